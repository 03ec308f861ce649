package transport

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A streamState is the state of an event stream over all connections that carry
// it.
type streamState struct {
	request        wire.Message  // that the stream answers; the zero message for a GET stream
	pending        int           // responses that are still to come
	lastEventID    string        // "" for none
	reconnectDelay time.Duration // before the stream is resumed
	deadline       time.Time     // after which it is not resumed
	shortLived     int           // consecutive connections that were closed soon
}

// isListening reports whether a GET opened the stream.
func (state streamState) isListening() bool { return state.request.Raw == nil }

// The delay before a stream is resumed: the default, and the minimum if the server
// asks for less.
const (
	defaultReconnectDelay = 100 * time.Millisecond
	minReconnectDelay     = 10 * time.Millisecond
)

// A server that closes maxShortLived consecutive connections of a GET stream within
// shortLivedWithin each does not intend to keep the stream open.
const (
	shortLivedWithin = time.Second
	maxShortLived    = 4
)

// listen opens the GET stream for messages that belong to no request
// (basic/transports#listening-for-messages-from-the-server). A server without one
// answers 405. Some servers send the head of that stream only with its first event;
// listen does not wait again for the head of such a server.
func (s *Streamable) listen() {
	opened := make(chan struct{})
	s.readers.Go(func() {
		state := streamState{reconnectDelay: defaultReconnectDelay, deadline: time.Now().Add(s.ResumeTimeout)}
		s.openGET(state, sync.OnceFunc(func() { close(opened) }))
	})
	if !s.Endpoint.headWithFirstEvent.Load() && !waitFor(opened, s.ListenTimeout) {
		s.Endpoint.headWithFirstEvent.Store(true)
	}
}

// openGET opens a stream with a GET: a new one, or the rest of the stream with the
// last event ID. It calls opened once the head has come or will not come.
func (s *Streamable) openGET(state streamState, opened func()) {
	defer opened()
	r := HTTPRequest{Method: http.MethodGet, Header: s.requestHeader(wire.Message{})}
	r.Header.Set("Accept", "text/event-stream")
	if state.lastEventID != "" {
		r.Header.Set("Last-Event-ID", state.lastEventID)
	}
	n, _ := s.log.recordRequest(s.Endpoint, r, nil)
	reply, err := s.Endpoint.Do(s.ctx, r)
	if err != nil {
		s.recordFailure(n, err)
		return
	}
	if !reply.IsEventStream() || reply.Status != http.StatusOK {
		body, _, _ := reply.ReadAll()
		s.log.recordAnswer(n, reply, body)
		return
	}
	s.log.recordHead(n, reply)
	opened()
	s.readStream(n, state, reply)
}

// resumes reports whether a stream that ended is resumed. A stream with pending
// responses is resumed until its deadline, if an event had an id. A GET stream is
// resumed without one too, since the server or an intermediary may close it at any
// time (basic/transports#listening-for-messages-from-the-server).
func (s *Streamable) resumes(state streamState) bool {
	switch {
	case s.Rev.Facts().Stateless || s.ctx.Err() != nil:
		return false
	case state.lastEventID == "":
		return state.isListening() && state.shortLived < maxShortLived
	case state.isListening():
		return true
	}
	inTime := !time.Now().Add(state.reconnectDelay).After(state.deadline)
	return state.pending > 0 && !s.isCancelled(state.request) && inTime
}

// readStream reads an event stream to its end, and resumes it if possible
// (basic/transports#resumability-and-redelivery).
func (s *Streamable) readStream(n int, state streamState, reply *HTTPResponse) {
	defer reply.Close()
	began := time.Now()
	for {
		f, err := reply.NextEvent()
		if err != nil {
			if state.shortLived++; time.Since(began) >= shortLivedWithin {
				state.shortLived = 0
			}
			s.log.recordEnd(n, err, !s.resumes(state))
			break
		}
		s.readEvent(n, &state, f)
	}
	if !s.resumes(state) {
		return
	}
	pause := time.NewTimer(state.nextDelay())
	defer pause.Stop()
	select {
	case <-pause.C:
		s.openGET(state, func() {})
	case <-s.ctx.Done():
	}
}

// readEvent records one event, and keeps what resuming the stream needs.
func (s *Streamable) readEvent(n int, state *streamState, f wire.Frame) {
	f.HTTP.Exchange = n
	// An event without data only gives the stream an event ID. Clients ignore events
	// of another type than message.
	if f.IsMessageEvent() {
		if !state.isListening() {
			state.pending -= countResponses(f.Raw) // whatever their ids
			s.storeResult(state.request, f.Raw)
		}
	} else {
		f = withoutMessage(f)
	}
	s.log.add(f)
	if e := f.HTTP.Event; e.ID != nil && !e.Unterminated {
		state.lastEventID = *e.ID
	}
	if ms, err := strconv.Atoi(f.HTTP.Event.Retry); err == nil {
		state.reconnectDelay = max(time.Duration(ms)*time.Millisecond, minReconnectDelay)
	}
}

// nextDelay returns the delay before the stream is resumed. A GET stream is not resumed
// faster than the default, and ever more slowly if the server keeps closing it and
// gives no event an id. The delay stays part of the state.
func (state *streamState) nextDelay() time.Duration {
	if state.isListening() {
		state.reconnectDelay = max(state.reconnectDelay, defaultReconnectDelay)
		if state.lastEventID == "" {
			state.reconnectDelay = max(state.reconnectDelay, defaultReconnectDelay<<state.shortLived)
		}
	}
	return state.reconnectDelay
}

// countResponses returns the number of responses in a message.
func countResponses(raw []byte) (n int) {
	for _, part := range wire.Parse(raw).Elements() {
		if part.IsResponse() {
			n++
		}
	}
	return n
}

// countRequests returns the number of requests in a message.
func countRequests(m wire.Message) (n int) {
	for _, part := range m.Elements() {
		if part.Kind == wire.Request {
			n++
		}
	}
	return n
}
