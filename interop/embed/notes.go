// Package embed uses the public API of mcpcheck as a user would, from another module:
// it judges a server and a client on the Go SDK, in this process, by a command and at
// a URL, with go test and with a Ginkgo suite.
package embed

import (
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newServer returns a server with one tool, one resource and one prompt.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "embedded", Version: "1.0.0"}, nil)
	type text struct {
		Text string `json:"text"`
	}
	echo := &mcp.Tool{
		Name: "echo", Description: "Return the text", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}
	mcp.AddTool(s, echo, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	s.AddResource(&mcp.Resource{Name: "readme", URI: "embedded://readme", MIMEType: "text/plain"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
				URI: r.Params.URI, MIMEType: "text/plain", Text: "hello",
			}}}, nil
		})
	return s
}

// Serve runs the server on a pair of streams.
func Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return newServer().Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
}

// connect runs a client on a pair of streams: it opens a session and calls each tool
// that needs no argument.
func connect(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	c := mcp.NewClient(&mcp.Implementation{Name: "embedded", Version: "1.0.0"}, nil)
	session, err := c.Connect(ctx, &mcp.IOTransport{Reader: in, Writer: out}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
	}
	return nil
}
