package session

import (
	"bytes"
	"context"
	"fmt"
	"sync"
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
		return &pipe{stream: stream, record: record, within: o.Timeout}, nil
	default:
		return nil, fmt.Errorf("%s can be neither started nor called", target)
	}
}

// A link is one connection to a peer. What was sent is recorded before it goes.
type link interface {
	// use tells the revision at which it is used, before anything is sent.
	use(rev spec.Revision)
	// send sends one message, for as long as an answer may take, and returns the
	// index of its frame. After the end of the context nothing is recorded or
	// sent.
	send(ctx context.Context, raw []byte) (at int, err error)
	// chunks writes bytes one after another as they are, recorded as one frame
	// per line that they make up, and calls pause with the index of the first
	// between one chunk and the next.
	chunks(ctx context.Context, pause func(first int), chunks [][]byte) (first int, err error)
	// drain waits until the peer has taken what was written, at most so long.
	drain(ctx context.Context, within time.Duration) bool
	// withdraw takes back a request where the transport has a way of its own to do
	// so; false where a message does it.
	withdraw(id wire.ID) bool
	// refused tells why a request of ours will not be answered by a message any
	// more, where a frame that came says so.
	refused(sent, got wire.Frame) error
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
	within time.Duration // for one write

	sending sync.Mutex // frames are recorded in the order in which they are written
}

func (p *pipe) use(spec.Revision) {}

func (p *pipe) send(ctx context.Context, raw []byte) (int, error) {
	p.sending.Lock()
	defer p.sending.Unlock()
	if err := p.closed(ctx); err != nil {
		return -1, err
	}
	at := p.record(wire.Frame{From: wire.Client, Raw: raw})
	return at, p.write(ctx, append(append(make([]byte, 0, len(raw)+1), raw...), '\n'))
}

func (p *pipe) chunks(ctx context.Context, pause func(first int), chunks [][]byte) (int, error) {
	p.sending.Lock()
	defer p.sending.Unlock()
	first := -1
	if err := p.closed(ctx); err != nil {
		return first, err
	}
	for _, line := range bytes.Split(bytes.TrimSuffix(bytes.Join(chunks, nil), []byte("\n")), []byte("\n")) {
		at := p.record(wire.Frame{From: wire.Client, Raw: line})
		if first < 0 {
			first = at
		}
	}
	for i, b := range chunks {
		if i > 0 {
			pause(first)
		}
		if err := p.write(ctx, b); err != nil {
			return first, err
		}
	}
	return first, nil
}

// closed tells why nothing is to be sent any more, or nil.
func (p *pipe) closed(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.stream.Torn()
}

func (p *pipe) write(ctx context.Context, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, p.within)
	defer cancel()
	return p.stream.Write(ctx, b)
}

func (p *pipe) drain(ctx context.Context, within time.Duration) bool {
	return p.stream.Drain(ctx, within)
}

func (p *pipe) withdraw(wire.ID) bool         { return false }
func (p *pipe) refused(_, _ wire.Frame) error { return nil }

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

// sizeOf returns how many bytes of a frame are kept, on HTTP also what stands
// beside its message.
func sizeOf(f wire.Frame) int {
	n := len(f.Raw)
	h := f.HTTP
	if h == nil {
		return n
	}
	for key, values := range h.Header {
		n += len(key)
		for _, v := range values {
			n += len(v)
		}
	}
	n += len(h.Body) + len(h.End)
	if h.Event == nil {
		return n
	}
	for _, lines := range [][]string{h.Event.Comments, h.Event.Odd} {
		for _, line := range lines {
			n += perLine + len(line)
		}
	}
	if n += len(h.Event.Type) + len(h.Event.Retry); h.Event.ID != nil {
		n += len(*h.Event.ID)
	}
	return n
}

// perLine is what a line that is kept costs beside its text.
const perLine = 16

func (p *pipe) leave()                { p.stream.CloseInput() }
func (p *pipe) terminate()            { p.stream.Terminate() }
func (p *pipe) kill()                 { p.stream.Kill() }
func (p *pipe) done() <-chan struct{} { return p.stream.Done() }
func (p *pipe) status() string        { return p.stream.Status() }
func (p *pipe) stderr() string        { return p.stream.Stderr() }
