// A server on mcp-go over stdio with a tool that removes its resource.
package main

import (
	"context"
	"log"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const uri = "notes://plan"

func main() {
	s := server.NewMCPServer("released", "1.0.0",
		server.WithResourceCapabilities(true, true), server.WithToolCapabilities(true))
	read := func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, Text: "Buy seeds."}}, nil
	}
	s.AddResource(mcp.NewResource(uri, "plan"), read)
	s.AddTool(mcp.NewTool("forget"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.RemoveResource(uri)
		return mcp.NewToolResultText("forgotten"), nil
	})
	log.Fatal(server.ServeStdio(s))
}
