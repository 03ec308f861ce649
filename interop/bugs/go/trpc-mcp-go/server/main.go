// A server on trpc-mcp-go: server FEATURE [ADDRESS]. Without an address it speaks
// over stdio.
package main

import (
	"context"
	"log"
	"os"

	mcp "trpc.group/trpc-go/trpc-mcp-go"
)

func main() {
	result := mcp.NewTextResult("Hello")
	if os.Args[1] == "no-content" {
		result = &mcp.CallToolResult{}
	}
	greet := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result, nil }
	if len(os.Args) == 2 {
		s := mcp.NewStdioServer("released", "1.0.0")
		s.RegisterTool(mcp.NewTool("greet"), greet)
		log.Fatal(s.Start())
	}
	s := mcp.NewServer("released", "1.0.0", mcp.WithServerAddress(os.Args[2]), mcp.WithServerPath("/mcp"))
	s.RegisterTool(mcp.NewTool("greet"), greet)
	log.Fatal(s.Start())
}
