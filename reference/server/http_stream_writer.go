package server

import (
	"net/http"
	"time"
)

// A streamWriter writes a stream to one connection.
type streamWriter struct {
	w           http.ResponseWriter
	clientGone  <-chan struct{} // closed when the client leaves
	serverDone  <-chan struct{} // closed when the server or the session ends
	encodeEvent EventEncoder
	keepAlive   time.Duration
	retry       time.Duration // the reconnection time of a client that is made to poll
	writeLimit  time.Duration // the time that the client has to read
	pollAfter   time.Duration // after which the client is made to poll; 0: never
}

// newStreamWriter returns the writer for streams of a connection.
func (h *HTTPHandler) newStreamWriter(w http.ResponseWriter, r *http.Request, c *conn) streamWriter {
	o := h.options.HTTP
	return streamWriter{
		w: w, clientGone: r.Context().Done(), serverDone: c.ctx.Done(), encodeEvent: h.encodeEvent,
		keepAlive: o.KeepAlive, retry: o.Retry, writeLimit: o.ClientTimeout,
	}
}

// writeStream writes the stream from event i on, after the events missed, until it
// ends, the client leaves, another connection takes it over or its connection is to
// be closed.
func (c streamWriter) writeStream(s *Stream, reader, i int, missed []Event) {
	defer s.disconnect(reader)
	c.writeHead(s, i, missed)
	quiet := time.NewTicker(c.keepAlive)
	defer quiet.Stop()
	var poll <-chan time.Time
	if c.pollAfter > 0 {
		t := time.NewTimer(c.pollAfter)
		defer t.Stop()
		poll = t.C
	}
	for last := false; ; {
		state := s.state(reader, i)
		if !state.isLastReader {
			return
		}
		i = state.next
		c.writeEvents(state.events)
		switch {
		case state.ended, last:
			return
		case state.closeRequested:
			// basic/transports#sending-messages-to-the-server of 2025-11-25: send
			// the reconnection time before the connection is closed.
			if s.primed {
				c.writeEvents([]Event{{Stream: s, Retry: c.retry}})
			}
			return
		}
		select {
		case <-state.change:
		case <-poll:
			s.requestClose()
		case <-quiet.C:
			c.writeEvents([]Event{{Stream: s, Comment: true}})
		case <-c.clientGone:
			return
		case <-c.serverDone:
			last = true
		}
	}
}

// writeHead writes the headers, the priming event and the missed events.
func (c streamWriter) writeHead(s *Stream, i int, missed []Event) {
	head := c.w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-cache, no-transform")
	head.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	if i == 0 && s.primed {
		c.writeEvent(Event{Stream: s, ID: s.id(0)})
	}
	for _, e := range missed {
		c.writeEvent(e)
	}
	c.flush()
}

// writeEvents writes events and flushes.
func (c streamWriter) writeEvents(events []Event) {
	for _, e := range events {
		c.writeEvent(e)
	}
	if len(events) > 0 {
		c.flush()
	}
}

// writeEvent writes one event. It ignores errors: they mean that the client has
// left, which closes clientGone.
func (c streamWriter) writeEvent(e Event) {
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(c.writeLimit))
	_, _ = c.w.Write(c.encodeEvent(e))
}

func (c streamWriter) flush() {
	control := http.NewResponseController(c.w)
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{})
}
