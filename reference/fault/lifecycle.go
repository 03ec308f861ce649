package fault

import (
	"context"
	"io"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// lifecycle are the faults of basic/lifecycle.
func lifecycle() []Fault {
	return []Fault{
		{
			Name: "echoes-unknown-version", Does: "agrees to whatever version initialize names", In: spec.Handshake,
			Breaks:   []string{"versioning-server-counter-offer"},
			CaughtBy: []string{"versioning.counter-offer"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if o, ok := v.(server.Object); ok && r.Method == "initialize" {
						o["protocolVersion"] = r.Params["protocolVersion"]
					}
					return v, problem
				}
			}),
		},
		{
			Name: "stays-after-eof", Does: "lives on after its input ended", In: spec.Every,
			Breaks:   []string{"lifecycle-stdio-server-exit-on-eof"},
			CaughtBy: []string{"lifecycle.exit-on-eof"},
			Apply: func(o *server.Options) {
				o.Input = func(ctx context.Context, r io.Reader) io.Reader { return endless{ctx, r} }
			},
		},
	}
}

// endless does not tell its reader of the end of the input until the server
// is stopped.
type endless struct {
	ctx context.Context
	r   io.Reader
}

func (e endless) Read(b []byte) (int, error) {
	n, err := e.r.Read(b)
	if n == 0 && err != nil {
		<-e.ctx.Done()
	}
	return n, err
}

// banner writes text before anything else.
func banner(text string) apply {
	return func(o *server.Options) {
		o.Bytes = func(w io.Writer) io.Writer {
			io.WriteString(w, text)
			return w
		}
	}
}
