// A server on mcp-go over HTTP+SSE: server PORT. Its tool adds a further tool to
// the session, although the server does not declare that its tools change.
package main

import (
	"context"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	addr := "127.0.0.1:" + os.Args[1]
	s := server.NewMCPServer("released", "1.0.0", server.WithToolCapabilities(false))
	answer := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("done"), nil
	}
	s.AddTool(mcp.NewTool("unlock"), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		session := server.ClientSessionFromContext(ctx).SessionID()
		if err := s.AddSessionTool(session, mcp.NewTool("unlocked"), answer); err != nil {
			return nil, err
		}
		return answer(ctx, r)
	})
	log.Fatal(server.NewSSEServer(s, server.WithBaseURL("http://"+addr)).Start(addr))
}
