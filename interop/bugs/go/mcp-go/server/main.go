// A server on mcp-go over stdio: server FEATURE.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

var features = map[string]func() *server.MCPServer{
	"tool":      newWithTools,
	"resource":  newWithResource,
	"templates": newWithTemplate,
}

func main() {
	log.Fatal(server.ServeStdio(features[os.Args[1]]()))
}

// newWithTools returns a server with a tool that answers at once and one that
// takes two seconds unless it is cancelled.
func newWithTools() *server.MCPServer {
	after := func(d time.Duration) server.ToolHandlerFunc {
		return func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(d):
				return mcp.NewToolResultText("done"), nil
			}
		}
	}
	s := server.NewMCPServer("released", "1.0.0")
	s.AddTool(mcp.NewTool("now"), after(0))
	s.AddTool(mcp.NewTool("later"), after(2*time.Second))
	return s
}

// read returns the text of every resource.
func read(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, Text: "Buy seeds."}}, nil
}

// newWithResource returns a server with a resource, which declares subscriptions
// and changes of the list.
func newWithResource() *server.MCPServer {
	s := server.NewMCPServer("released", "1.0.0", server.WithResourceCapabilities(true, true))
	s.AddResource(mcp.NewResource("notes://plan", "plan"), read)
	return s
}

// newWithTemplate returns a server with a resource template.
func newWithTemplate() *server.MCPServer {
	s := server.NewMCPServer("released", "1.0.0", server.WithResourceCapabilities(true, true))
	s.AddResourceTemplate(mcp.NewResourceTemplate("notes://{name}", "notes"), read)
	return s
}
