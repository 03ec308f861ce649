package server

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A responder writes the response to one POST.
type responder struct {
	streamWriter
	preferStream bool
	// setHeaders adds to the headers of a successful response; beforeStream is
	// called before a stream begins, so that it can be resumed.
	setHeaders        func(stream bool)
	beforeStream      func()
	sessionLostStatus int // if the session ends before a message
}

// respond waits for the messages of the exchange and writes them as one JSON object
// or as a stream, or only the status if there are none
// (basic/transports#sending-messages-to-the-server).
func (x *exchange) respond(p responder) {
	for last := false; ; {
		s := x.stream.state(0, 0)
		n := len(s.events)
		var first Frame
		status := http.StatusOK
		if n > 0 {
			first = *s.events[0].Frame
			status = x.httpStatus(first)
		}
		stream := p.preferStream && status == http.StatusOK
		switch {
		case s.ended && n == 0 && !x.needsAnswer:
			p.setHeaders(false)
			p.w.WriteHeader(http.StatusAccepted)
			return
		case s.ended && n == 1 && first.isAnswer() && !stream:
			if first.Kind != wire.Error {
				p.setHeaders(false)
			}
			writeJSON(p.w, status, first.Raw)
			return
		case n > 1, n == 1 && !first.isAnswer(), s.ended, s.closeRequested, n == 0 && p.preferStream && x.needsAnswer:
			p.setHeaders(true)
			p.beforeStream()
			p.writeStream(x.stream, x.stream.connect(0), 0, nil)
			return
		case last:
			p.w.WriteHeader(p.sessionLostStatus)
			return
		}
		select {
		case <-s.change:
		case <-p.clientGone:
			return
		case <-p.serverDone:
			last = true
		}
	}
}

// pollingRevisions are the revisions in which a server may close the connection of
// a stream and have the client reconnect
// (basic/transports#sending-messages-to-the-server).
var pollingRevisions = spec.Only(spec.V2025_11_25)

// closeStreamToPoll closes the connection of the stream of the request, if the
// revision and the transport allow that, and waits until the client reconnects, at
// most for Options.Patience.
func (r *Request) closeStreamToPoll(ctx context.Context) {
	x := r.exchange
	if x == nil || !x.canPoll {
		return
	}
	r.Yield()
	s := x.stream
	s.mu.Lock()
	before := s.readerCount
	s.mu.Unlock()
	if before == 0 {
		before = 1 // the connection of the POST, which does not read the stream yet
	}
	s.requestClose()
	patience := time.NewTimer(r.conn.options.Patience)
	defer patience.Stop()
	for {
		s.mu.Lock()
		reconnected, change := s.readerCount > before, s.change
		s.mu.Unlock()
		if reconnected {
			return
		}
		select {
		case <-change:
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
