// A server on mcp-go over streamable HTTP that ends a session when the client
// deletes it: server ADDRESS.
package main

import (
	"context"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("released", "1.0.0", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("greet"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("Hello"), nil
	})
	log.Fatal(server.NewStreamableHTTPServer(s, server.WithStateful(true)).Start(os.Args[1]))
}
