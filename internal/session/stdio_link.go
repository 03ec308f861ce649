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

// A stdioLink is a link over stdio.
type stdioLink struct {
	stream   *transport.Stream
	record   func(wire.Frame) int
	patience func() time.Duration // for one write

	sending sync.Mutex // so that the order of the frames is the order of the writes
}

func (p *stdioLink) setRevision(spec.Revision) {}

func (p *stdioLink) send(ctx context.Context, raw []byte) (int, error) {
	p.sending.Lock()
	defer p.sending.Unlock()
	if err := p.writeError(ctx); err != nil {
		return -1, err
	}
	at := p.record(wire.Frame{From: wire.Client, Raw: raw})
	ctx, cancel := context.WithTimeout(ctx, p.patience())
	defer cancel()
	return at, p.stream.WriteLine(ctx, raw)
}

func (p *stdioLink) sendChunks(ctx context.Context, pause func(first int), chunks [][]byte) (int, error) {
	p.sending.Lock()
	defer p.sending.Unlock()
	first := -1
	if err := p.writeError(ctx); err != nil {
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

func (p *stdioLink) write(ctx context.Context, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, p.patience())
	defer cancel()
	return p.stream.Write(ctx, b)
}

// writeError returns why nothing can be sent any more, or nil.
func (p *stdioLink) writeError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.stream.PartialWrite()
}

func (p *stdioLink) drain(ctx context.Context, within time.Duration) bool {
	return p.stream.Drain(ctx, within)
}

func (p *stdioLink) cancelRequest(wire.ID) bool             { return false }
func (p *stdioLink) unansweredReason(_, _ wire.Frame) error { return nil }

func (p *stdioLink) next() (wire.Frame, error) {
	line, err := p.stream.ReadLine()
	if err != nil {
		return wire.Frame{}, err
	}
	f := wire.Frame{From: wire.Server, Raw: line.Bytes, Truncated: line.IsTruncated(), Unterminated: line.Unterminated}
	if f.Truncated {
		f.Note = fmt.Sprintf("line of %d bytes, cut at %d", line.Length, len(line.Bytes))
	}
	return f, nil
}

func (p *stdioLink) requestEnd()           { p.stream.CloseInput() }
func (p *stdioLink) terminate()            { p.stream.Terminate() }
func (p *stdioLink) kill()                 { p.stream.Kill() }
func (p *stdioLink) done() <-chan struct{} { return p.stream.Done() }
func (p *stdioLink) status() string        { return p.stream.Status() }
func (p *stdioLink) stderr() string        { return p.stream.Stderr() }
