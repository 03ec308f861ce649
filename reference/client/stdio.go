package client

import (
	"context"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A processLink is a link to a server that the client started.
type processLink struct {
	stream *transport.Stream
	c      *conn
}

func (l *processLink) open(context.Context) error {
	go l.read()
	return nil
}

func (l *processLink) read() {
	defer close(l.c.closed)
	for {
		line, err := l.stream.ReadLine()
		if err != nil {
			return
		}
		for _, m := range wire.Parse(line.Bytes).Elements() {
			l.c.receive(m)
		}
	}
}

func (l *processLink) send(m Message) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.c.options.Timeout)
	defer cancel()
	return l.stream.WriteLine(ctx, m.Raw)
}

func (*processLink) setRevision(spec.Revision) {}

// close ends the server: it closes the server's input, waits, and then sends it a
// signal (basic/lifecycle#shutdown).
func (l *processLink) close(ctx context.Context) {
	grace := l.c.options.Grace
	end := wrapped[Closer](func(_ context.Context, s *transport.Stream) {
		s.CloseInput()
		if !waitDone(s, grace) {
			s.Terminate()
			waitDone(s, grace)
		}
	}, l.c.options.Close)
	end(ctx, l.stream)
	l.stream.Kill()
	<-l.c.closed
}

// waitDone waits until the server has ended, and reports whether it did in time.
func waitDone(s *transport.Stream, within time.Duration) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-s.Done():
		return true
	case <-limit.C:
		return false
	}
}
