// A server on go-mcp v0.1 over stdio.
package main

import (
	"log"

	"github.com/ThinkInAIXYZ/go-mcp/protocol"
	"github.com/ThinkInAIXYZ/go-mcp/server"
	"github.com/ThinkInAIXYZ/go-mcp/transport"
)

type words struct {
	Words string `json:"words" description:"the words"`
}

func main() {
	s, err := server.NewServer(transport.NewStdioServerTransport(),
		server.WithServerInfo(protocol.Implementation{Name: "released", Version: "1.0.0"}))
	if err != nil {
		log.Fatal(err)
	}
	repeat, err := protocol.NewTool("repeat", "Repeats words", words{})
	if err != nil {
		log.Fatal(err)
	}
	s.RegisterTool(repeat, func(*protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		return &protocol.CallToolResult{Content: []protocol.Content{
			protocol.TextContent{Type: "text", Text: "Hello"},
		}}, nil
	})
	log.Fatal(s.Run())
}
