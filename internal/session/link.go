package session

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// dial makes one connection to a target. record records a frame of ours and
// returns its index; the frames of the peer are given by the link.
func dial(ctx context.Context, target transport.Target, o Options, record func(wire.Frame) int) (link, error) {
	switch t := target.(type) {
	case transport.Site:
		return dialHTTP(ctx, t, o, record)
	case transport.Starter:
		stream, err := t.Start(ctx)
		if err != nil {
			return nil, err
		}
		return &pipe{stream, record}, nil
	default:
		return nil, fmt.Errorf("%s can be neither started nor called", target)
	}
}

// A link is one connection to a peer. What was sent is recorded before it goes.
type link interface {
	// use tells the revision at which it is used, before anything is sent.
	use(rev spec.Revision)
	// send sends one message and returns the index of its frame.
	send(ctx context.Context, raw []byte) (at int, err error)
	// write sends bytes as they are, and records nothing.
	write(ctx context.Context, b []byte) error
	// drain waits until the peer has taken what was written, at most so long.
	drain(ctx context.Context, within time.Duration) bool
	// next returns the next frame of the peer, io.EOF after the last.
	next() (wire.Frame, error)

	// leave asks the peer politely to end the connection, terminate asks again,
	// kill ends it; done is closed once it has ended, and status says how.
	leave()
	terminate()
	kill()
	done() <-chan struct{}
	status() string
	// stderr returns the last of what the peer wrote to its standard error.
	stderr() string
}

// A pipe is a link over stdio.
type pipe struct {
	stream *transport.Stream
	record func(wire.Frame) int
}

func (p *pipe) use(spec.Revision) {}

func (p *pipe) send(ctx context.Context, raw []byte) (int, error) {
	at := p.record(wire.Frame{From: wire.Client, Raw: raw})
	return at, p.stream.WriteLine(ctx, raw)
}

func (p *pipe) write(ctx context.Context, b []byte) error { return p.stream.Write(ctx, b) }

func (p *pipe) drain(ctx context.Context, within time.Duration) bool {
	return p.stream.Drain(ctx, within)
}

func (p *pipe) next() (wire.Frame, error) {
	line, err := p.stream.ReadLine()
	if err != nil {
		return wire.Frame{}, err
	}
	f := wire.Frame{From: wire.Server, Raw: line.Bytes, Cut: line.Cut(), Unterminated: line.Unterminated}
	if f.Cut {
		f.Note = fmt.Sprintf("line of %d bytes, cut at %d", line.Length, len(line.Bytes))
	}
	return f, nil
}

func (p *pipe) leave()                { p.stream.CloseInput() }
func (p *pipe) terminate()            { p.stream.Terminate() }
func (p *pipe) kill()                 { p.stream.Kill() }
func (p *pipe) done() <-chan struct{} { return p.stream.Done() }
func (p *pipe) status() string        { return p.stream.Status() }
func (p *pipe) stderr() string        { return p.stream.Stderr() }
