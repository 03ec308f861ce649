package embed

import (
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ioServer returns a server on a transport as a server on a pair of streams.
func ioServer(run func(context.Context, mcp.Transport) error) func(context.Context, io.ReadCloser, io.WriteCloser) error {
	return func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	}
}
