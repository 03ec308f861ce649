package transport

import (
	"context"
	"io"

	"github.com/mcpcheck/mcpcheck/internal/processes"
)

// InProcess is a target that runs as a goroutine of this process, over the same
// pipes as a child process.
type InProcess struct {
	Name string
	// Serve speaks stdio on in and out until in ends or ctx is done. Its error takes
	// the place of the exit status.
	Serve func(ctx context.Context, in io.Reader, out io.Writer) error
	stdio
}

func (t InProcess) String() string { return t.Name }

// WithGuard returns the target unchanged: it has no child processes.
func (t InProcess) WithGuard(func() (*processes.Guard, error)) (Target, *processes.Guard, error) {
	return t, nil, nil
}

// Start starts the goroutine.
func (t InProcess) Start(context.Context) (*Stream, error) {
	peerIn, in, peerOut, out, err := pipes()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &goroutine{ended: make(chan struct{}), cancel: func() {
		cancel()
		// A goroutine that reads its input returns only when the input ends.
		peerIn.Close()
		peerOut.Close()
	}}
	go func() {
		defer close(g.ended)
		defer g.cancel()
		g.result = "exit status 0"
		if err := t.Serve(ctx, peerIn, peerOut); err != nil {
			g.result = "exit status 1: " + err.Error()
		}
	}()
	return &Stream{in: in, out: NewLineReader(out, 0), pipe: out, peer: g}, nil
}

type goroutine struct {
	ended  chan struct{}
	cancel func()
	result string
}

func (g *goroutine) done() <-chan struct{} { return g.ended }
func (g *goroutine) status() string        { return g.result }
func (g *goroutine) terminate()            { g.cancel() }
func (g *goroutine) kill()                 { g.cancel() }
func (g *goroutine) stderr() string        { return "" }
