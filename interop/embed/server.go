package embed

import (
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A streamServer serves one session over a pair of streams.
type streamServer = func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error

// ioServer returns a server on a transport as a server on a pair of streams.
func ioServer(run func(context.Context, mcp.Transport) error) streamServer {
	return func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	}
}
