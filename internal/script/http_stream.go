package script

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An httpStream is the answer to one HTTP request: one JSON document, or events. A
// method that sends records the frame at once; writeStream writes the bytes.
type httpStream struct {
	exchange  int
	eventName string // type of the events; "" for none
	hasEvents bool   // the answer is an event stream; guarded by the mu of the link

	mu        sync.Mutex
	changed   chan struct{}
	status    int
	header    http.Header
	unwritten [][]byte // bytes to be written
	complete  bool
}

func newHTTPStream(exchange int) *httpStream {
	return &httpStream{exchange: exchange, changed: make(chan struct{}), header: http.Header{}}
}

// update changes the state of the answer and wakes writeStream.
func (s *httpStream) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// sendJSON answers with one JSON document.
func (s *httpStream) sendJSON(l *httpLink, status int, header http.Header, raw []byte) (index int) {
	header.Set("Content-Type", "application/json")
	h := &wire.HTTP{Exchange: s.exchange, Status: status, Header: header}
	index, _ = l.conn.Add(wire.Frame{From: wire.Server, Raw: raw, HTTP: h})
	s.update(func() { s.status, s.header, s.unwritten, s.complete = status, header, [][]byte{raw}, true })
	return index
}

// beginEvents makes the answer an event stream. A second call has no effect.
func (s *httpStream) beginEvents(l *httpLink) {
	if s.hasEvents {
		return
	}
	s.hasEvents = true
	header := http.Header{
		"Content-Type":      {"text/event-stream"},
		"Cache-Control":     {"no-cache, no-transform"},
		"X-Accel-Buffering": {"no"},
	}
	l.record(wire.Server, &wire.HTTP{Exchange: s.exchange, Status: http.StatusOK, Header: header})
	s.update(func() { s.status, s.header = http.StatusOK, header })
}

// sendEvent sends a message as an event.
func (s *httpStream) sendEvent(l *httpLink, raw []byte) (index int) {
	s.beginEvents(l)
	h := &wire.HTTP{Exchange: s.exchange, Event: &wire.Event{Type: s.eventName}}
	index, _ = l.conn.Add(wire.Frame{From: wire.Server, Raw: raw, HTTP: h})
	s.writeEvent(s.eventName, raw)
	return index
}

// sendEndpoint sends the URL that messages are posted to
// (basic/transports#http-with-sse of 2024-11-05).
func (s *httpStream) sendEndpoint(l *httpLink, to string) {
	l.record(wire.Server, &wire.HTTP{Exchange: s.exchange, Body: to, Event: &wire.Event{Type: "endpoint"}})
	s.writeEvent("endpoint", []byte(to))
}

func (s *httpStream) writeEvent(name string, data []byte) {
	var b []byte
	if name != "" {
		b = fmt.Appendf(b, "event: %s\n", name)
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		b = fmt.Appendf(b, "data: %s\n", line)
	}
	s.update(func() { s.unwritten = append(s.unwritten, append(b, '\n')) })
}

// end ends the stream.
func (s *httpStream) end(l *httpLink) {
	l.record(wire.Server, &wire.HTTP{Exchange: s.exchange, EndReason: wire.EndedByPeer, Final: true})
	s.update(func() { s.complete = true })
}

// writeStream writes an answer until it is complete, the client closes the connection
// or the session ends.
func (l *httpLink) writeStream(out http.ResponseWriter, r *http.Request, s *httpStream) {
	control := http.NewResponseController(out)
	wroteHead := false
	for {
		s.mu.Lock()
		todo, done, wake, status, header := s.unwritten, s.complete, s.changed, s.status, s.header
		s.unwritten = nil
		s.mu.Unlock()
		if status != 0 && !wroteHead {
			wroteHead = true
			for key, values := range header {
				out.Header()[key] = values
			}
			out.WriteHeader(status)
		}
		_ = control.SetWriteDeadline(time.Now().Add(l.server.harness.opts.AnswerTimeout))
		for _, b := range todo {
			_, _ = out.Write(b) // if this fails, the context of the request ends
		}
		if wroteHead {
			_ = control.Flush()
		}
		if done {
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			l.record(wire.Client, &wire.HTTP{Exchange: s.exchange, EndReason: "closed by the client"})
			return
		case <-l.ended:
			return
		}
	}
}
