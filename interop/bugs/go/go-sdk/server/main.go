// A server on the Go SDK: server [-http ADDRESS [-stateless]] FEATURE. Without an
// address it speaks over stdio.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	addr := flag.String("http", "", "serve streamable HTTP at this address")
	stateless := flag.Bool("stateless", false, "keep no sessions")
	flag.Parse()
	s := mcp.NewServer(&mcp.Implementation{Name: "released", Version: "1.0.0"}, nil)
	features[flag.Arg(0)](s)
	if *addr == "" {
		if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Fatal(err)
		}
		return
	}
	get := func(*http.Request) *mcp.Server { return s }
	h := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: *stateless})
	http.Handle("/mcp", h)
	log.Fatal(http.ListenAndServe(*addr, nil))
}

var features = map[string]func(*mcp.Server){
	"tool":     addTools,
	"failing":  addFailing,
	"resource": addEmptyResource,
}

type words struct {
	Words string `json:"words"`
}

// addTools adds a tool that answers at once and one that takes a second.
func addTools(s *mcp.Server) {
	after := func(d time.Duration) mcp.ToolHandlerFor[words, any] {
		return func(_ context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
			time.Sleep(d)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Words}}}, nil, nil
		}
	}
	mcp.AddTool(s, &mcp.Tool{Name: "repeat", Description: "Repeats words"}, after(0))
	mcp.AddTool(s, &mcp.Tool{Name: "ponder", Description: "Repeats words after a second"}, after(time.Second))
}

// addFailing adds a resource and a prompt whose handlers return an ordinary error.
func addFailing(s *mcp.Server) {
	broken := errors.New("the disk is full")
	s.AddResource(&mcp.Resource{Name: "plan", URI: "notes://plan"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, broken })
	s.AddPrompt(&mcp.Prompt{Name: "travel"},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, broken })
}

// addEmptyResource adds a resource whose handler returns neither a result nor an error.
func addEmptyResource(s *mcp.Server) {
	s.AddResource(&mcp.Resource{Name: "plan", URI: "notes://plan"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, nil })
}
