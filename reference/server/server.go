package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// Options configures a server and holds the hooks that make it deviate. The zero
// value is the conforming server.
type Options struct {
	// Revisions are those that the server speaks; zero means all. A server without
	// handshake revisions does not know initialize, one without stateless revisions
	// does not know the per-request _meta.
	Revisions spec.Set

	// StateKey signs the requestState that the client returns
	// (basic/patterns/mrtr#server-requirements-basic-workflow). Instances that
	// share it accept each other's. Empty: random for each Serve.
	StateKey []byte
	// Grace is the time that work in flight has after the input ended; 0 means
	// 250 ms.
	Grace time.Duration
	// Patience is the time that the client has to answer a request of the server;
	// 0 means 30 s.
	Patience time.Duration

	// Official adds what the public conformance contract requires (official.go).
	Official bool
	// StepDelay is the pause between two steps of a tool of that contract; 0 means
	// 50 ms. Its watched resource changes every 50 steps.
	StepDelay time.Duration

	// HTTP configures the server over HTTP.
	HTTP HTTP

	// The hooks. Each wraps the conforming part, is called once per connection, and
	// may be nil. A connection is a Serve on stdio and a session over HTTP; all
	// stateless requests over HTTP share one.

	// ChangeFeatures changes what the server offers, before it starts.
	ChangeFeatures func(*Features)
	// Handler sees each request and makes its result or error. It may run on
	// several goroutines at once.
	Handler func(next Handler) Handler
	// Frames sees each outgoing message, one at a time.
	Frames func(next FrameSink) FrameSink
	// Incoming sees each incoming line before it is parsed, one at a time. out
	// writes a frame past the hook Frames.
	Incoming func(next Receiver, out FrameSink) Receiver
	// Output and Input wrap the output and the input on stdio. The context ends
	// when the server is stopped.
	Output func(w io.Writer) io.Writer
	Input  func(ctx context.Context, r io.Reader) io.Reader
}

// Serve speaks MCP over stdio framing until in ends or ctx is done. It returns
// nil after the end of in, the cause of ctx, or the error that kept it from
// writing. A read of in that is still blocked when ctx is done ends when the
// caller closes in.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	o.setDefaults()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if o.Input != nil {
		in = o.Input(ctx, in)
	}
	if o.Output != nil {
		out = o.Output(out)
	}
	w := transport.NewLineWriter(out)
	c := newConn(ctx, stop, func(f Frame) {
		if err := w.WriteLine(f.Raw); err != nil {
			stop(fmt.Errorf("write to client: %w", err))
		}
	}, o)
	c.start()
	ended := make(chan error, 1)
	go func() { ended <- c.readLines(transport.NewLineReader(in, 0)) }()
	select {
	case err := <-ended:
		c.drain()
		return err
	case <-ctx.Done():
		c.drain()
		return context.Cause(ctx)
	}
}

// setDefaults replaces the zero values by the defaults.
func (o *Options) setDefaults() {
	if o.Revisions == 0 {
		o.Revisions = spec.Every
	}
	if o.Grace == 0 {
		o.Grace = 250 * time.Millisecond
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	if len(o.StateKey) == 0 {
		o.StateKey = randomKey()
	}
}

// Target returns the server as a target that runs in this process. Its starts
// share one StateKey, as instances behind one address would.
func Target(name string, o Options) transport.InProcess {
	if len(o.StateKey) == 0 {
		o.StateKey = randomKey()
	}
	return transport.InProcess{Name: name, Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		return Serve(ctx, in, out, o)
	}}
}

func randomKey() []byte {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		panic(fmt.Sprintf("server: no randomness for a key: %v", err)) // crypto/rand documents that it never fails
	}
	return key
}
