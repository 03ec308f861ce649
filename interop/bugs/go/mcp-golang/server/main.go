// A server on mcp-golang over stdio, which waits forever after Serve as the guide
// of the SDK does.
package main

import (
	"log"

	mcp "github.com/metoro-io/mcp-golang"
	"github.com/metoro-io/mcp-golang/transport/stdio"
)

type trip struct {
	Town string `json:"town" jsonschema:"required,description=The town"`
}

func main() {
	s := mcp.NewServer(stdio.NewStdioServerTransport())
	travel := func(t trip) (*mcp.PromptResponse, error) {
		text := mcp.NewTextContent("Plan a day in " + t.Town)
		return mcp.NewPromptResponse("A day", mcp.NewPromptMessage(text, mcp.RoleUser)), nil
	}
	if err := s.RegisterPrompt("travel", "Plans a day", travel); err != nil {
		log.Fatal(err)
	}
	if err := s.Serve(); err != nil {
		log.Fatal(err)
	}
	select {}
}
