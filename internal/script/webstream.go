package script

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A stream is what is said in answer to one request of HTTP: one JSON document, or
// events. The frames are recorded when they are put on it; whoever serves the
// request writes them.
type stream struct {
	exchange int
	name     string // of events, "" for none
	begun    bool   // as a stream of events; guarded by the link

	mu     sync.Mutex
	wake   chan struct{}
	status int
	header http.Header
	todo   [][]byte // bytes to be written
	done   bool
}

func newStream(exchange int) *stream {
	return &stream{exchange: exchange, wake: make(chan struct{}), header: http.Header{}}
}

func (s *stream) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.wake)
	s.wake = make(chan struct{})
}

// whole answers by one JSON document.
func (s *stream) whole(l *webLink, status int, header http.Header, raw []byte) (index int) {
	header.Set("Content-Type", "application/json")
	index, _ = l.conn.Add(wire.Frame{From: wire.Server, Raw: raw, HTTP: &wire.HTTP{Exchange: s.exchange, Status: status, Header: header}})
	s.change(func() { s.status, s.header, s.todo, s.done = status, header, [][]byte{raw}, true })
	return index
}

// begin begins a stream of events; a second call does nothing.
func (s *stream) begin(l *webLink) {
	if s.begun {
		return
	}
	s.begun = true
	header := http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache, no-transform"}, "X-Accel-Buffering": {"no"}}
	l.record(wire.Server, &wire.HTTP{Exchange: s.exchange, Status: http.StatusOK, Header: header})
	s.change(func() { s.status, s.header = http.StatusOK, header })
}

// event puts a message on the stream.
func (s *stream) event(l *webLink, raw []byte) (index int) {
	s.begin(l)
	index, _ = l.conn.Add(wire.Frame{From: wire.Server, Raw: raw, HTTP: &wire.HTTP{Exchange: s.exchange, Event: &wire.Event{Type: s.name}}})
	s.put(s.name, raw)
	return index
}

// endpoint tells where messages are posted (basic/transports#http-with-sse of
// 2024-11-05).
func (s *stream) endpoint(l *webLink, to string) {
	l.record(wire.Server, &wire.HTTP{Exchange: s.exchange, Body: to, Event: &wire.Event{Type: "endpoint"}})
	s.put("endpoint", []byte(to))
}

func (s *stream) put(name string, data []byte) {
	var b []byte
	if name != "" {
		b = fmt.Appendf(b, "event: %s\n", name)
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		b = fmt.Appendf(b, "data: %s\n", line)
	}
	s.change(func() { s.todo = append(s.todo, append(b, '\n')) })
}

// finish ends the stream.
func (s *stream) finish(l *webLink) {
	l.record(wire.Server, &wire.HTTP{Exchange: s.exchange, End: "the stream ended", Last: true})
	s.change(func() { s.done = true })
}

// carry writes what is put on a stream, until it ends, the client leaves or the
// session is over.
func (l *webLink) carry(out http.ResponseWriter, r *http.Request, s *stream) {
	control := http.NewResponseController(out)
	headed := false
	for {
		s.mu.Lock()
		todo, done, wake, status, header := s.todo, s.done, s.wake, s.status, s.header
		s.todo = nil
		s.mu.Unlock()
		if status != 0 && !headed {
			headed = true
			for key, values := range header {
				out.Header()[key] = values
			}
			out.WriteHeader(status)
		}
		_ = control.SetWriteDeadline(time.Now().Add(l.web.stage.opts.Due))
		for _, b := range todo {
			_, _ = out.Write(b) // who cannot be written to has left, which is seen below
		}
		if headed {
			_ = control.Flush()
		}
		if done {
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			l.record(wire.Client, &wire.HTTP{Exchange: s.exchange, End: "closed by the client"})
			return
		case <-l.over:
			return
		}
	}
}
