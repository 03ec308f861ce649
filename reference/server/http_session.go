package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// An httpSession is a session over HTTP: one of the handshake revisions with its
// id, or the connection of HTTP+SSE. It has a conn, and with it a library, of its
// own.
type httpSession struct {
	id        string
	owner     string // its user, "" if the server does not distinguish users
	handler   *HTTPHandler
	conn      *conn
	sseStream *Stream // the one stream of HTTP+SSE; nil in streamable HTTP

	mu             sync.Mutex
	streamCount    int
	keptStreams    []*Stream // that can be resumed, oldest first
	getStreams     []*Stream // of a GET and connected, newest last
	backlog        []Frame   // for the next GET stream
	activeRequests int       // HTTP requests in progress
	lastUsed       time.Time
	idleTimer      *time.Timer
}

// The bounds of a session: streams that can be resumed and the bytes in them, GET
// streams at a time, and messages that wait for a GET stream and their bytes.
const (
	maxKeptStreams     = 100
	maxKeptStreamBytes = 2 * maxKeptBytes
	maxGetStreams      = 8
	maxBacklog         = 256
	maxBacklogBytes    = maxKeptBytes
)

// openSession opens a session of a user under a new id; nil if there is no room for
// it.
func (h *HTTPHandler) openSession(o Options, owner string, sse bool) *httpSession {
	s := &httpSession{id: h.newSessionID(), owner: owner, handler: h, lastUsed: time.Now()}
	if sse {
		s.sseStream = newStream()
		s.sseStream.Session, s.sseStream.eventName = s.id, "message"
	}
	ctx, stop := context.WithCancelCause(h.ctx)
	s.conn = newConn(ctx, stop, s.send, o)
	h.mu.Lock()
	if h.closed || len(h.sessions) >= h.options.HTTP.MaxSessions && !h.evictIdleSession() {
		h.mu.Unlock()
		stop(errStopped)
		return nil
	}
	h.sessions[s.id] = s
	h.mu.Unlock()
	s.conn.start()
	s.mu.Lock()
	s.idleTimer = time.AfterFunc(h.options.HTTP.Idle, s.expire)
	s.mu.Unlock()
	return s
}

// evictIdleSession ends the session that was idle the longest, and reports whether
// there was one; h.mu is held.
func (h *HTTPHandler) evictIdleSession() bool {
	var oldest *httpSession
	var since time.Time
	for _, s := range h.sessions {
		s.mu.Lock()
		if s.activeRequests == 0 && (oldest == nil || s.lastUsed.Before(since)) {
			oldest, since = s, s.lastUsed
		}
		s.mu.Unlock()
	}
	if oldest == nil {
		return false
	}
	delete(h.sessions, oldest.id)
	h.work.Go(oldest.close)
	return true
}

// findSession returns the session of an id, nil for none.
func (h *HTTPHandler) findSession(id string) *httpSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// endSession ends a session: its id names none from now on
// (basic/transports#session-management). It does not wait for what is still in
// flight.
func (h *HTTPHandler) endSession(s *httpSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.id] == s {
		delete(h.sessions, s.id)
		h.work.Go(s.close)
	}
}

// close ends what is in flight, and every stream.
func (s *httpSession) close() {
	s.mu.Lock()
	if s.idleTimer != nil {
		s.idleTimer.Stop()
	}
	s.mu.Unlock()
	s.conn.drain()
	s.conn.stop(errStopped)
	if s.sseStream != nil {
		s.sseStream.end()
	}
}

// beginRequest begins one HTTP request of the session, which keeps it from expiring.
func (s *httpSession) beginRequest() { s.addActiveRequests(1) }

// endRequest ends the HTTP request that beginRequest began.
func (s *httpSession) endRequest() { s.addActiveRequests(-1) }

func (s *httpSession) addActiveRequests(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.activeRequests += n
	s.lastUsed = time.Now()
}

// expire ends the session if it was idle for long enough, or sets the timer to when
// it would be.
func (s *httpSession) expire() {
	s.mu.Lock()
	rest := s.handler.options.HTTP.Idle
	if s.activeRequests == 0 {
		rest -= time.Since(s.lastUsed)
	}
	if rest > 0 {
		s.idleTimer.Reset(rest)
	}
	s.mu.Unlock()
	if rest <= 0 {
		s.handler.endSession(s)
	}
}

// newStream makes a stream of the session. kind begins its label.
func (s *httpSession) newStream(kind string) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streamCount++
	stream := newStream()
	stream.Session, stream.Label, stream.resumable = s.id, fmt.Sprintf("%s%d", kind, s.streamCount), true
	stream.primed = pollingRevisions.Has(s.conn.session.Revision())
	return stream
}

// keepStream keeps a stream for a client that resumes it.
func (s *httpSession) keepStream(stream *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keptStreams = append(s.keptStreams, stream)
	s.dropExcessStreams()
}

// dropExcessStreams drops kept streams until the bounds hold, ended ones first;
// s.mu is held.
func (s *httpSession) dropExcessStreams() {
	size := 0
	for _, stream := range s.keptStreams {
		size += stream.keptSize()
	}
	for len(s.keptStreams) > maxKeptStreams || len(s.keptStreams) > 1 && size > maxKeptStreamBytes {
		i := max(slices.IndexFunc(s.keptStreams, (*Stream).isEnded), 0)
		size -= s.keptStreams[i].keptSize()
		s.keptStreams = slices.Delete(s.keptStreams, i, i+1)
	}
}

// addGetStream makes a stream the newest GET stream, and puts the backlog on it.
func (s *httpSession) addGetStream(stream *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.getStreams = slices.DeleteFunc(s.getStreams, func(other *Stream) bool { return other == stream })
	if len(s.getStreams) >= maxGetStreams {
		s.getStreams[0].requestClose()
		s.getStreams = slices.Delete(s.getStreams, 0, 1)
	}
	s.getStreams = append(s.getStreams, stream)
	for _, f := range s.backlog {
		stream.append(f)
	}
	s.backlog = nil
}

// removeGetStream removes a stream that its client has left, unless the client is
// connected again.
func (s *httpSession) removeGetStream(stream *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream.mu.Lock()
	defer stream.mu.Unlock()
	if !stream.hasReader {
		s.getStreams = slices.DeleteFunc(s.getStreams, func(other *Stream) bool { return other == stream })
	}
}

// send puts a message of the session on the streams that the hook Route returns.
// Without one the message waits for the next GET stream, unless it is a response,
// which belongs on no stream but that of its request.
func (s *httpSession) send(f Frame) {
	if s.sseStream != nil {
		s.sseStream.append(f)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	streams := s.handler.route(f, OpenStreams{Own: postStream(f), GetStreams: slices.Clone(s.getStreams)})
	for _, stream := range streams {
		stream.append(f)
	}
	if len(streams) > 0 {
		s.dropExcessStreams()
		return
	}
	if !f.isAnswer() {
		s.addToBacklog(f)
	}
}

// addToBacklog makes a message wait for the next GET stream, and drops the oldest
// ones beyond the bounds; s.mu is held.
func (s *httpSession) addToBacklog(f Frame) {
	s.backlog = append(s.backlog, f)
	size := 0
	for _, waiting := range s.backlog {
		size += len(waiting.Raw)
	}
	for len(s.backlog) > maxBacklog || len(s.backlog) > 1 && size > maxBacklogBytes {
		size -= len(s.backlog[0].Raw)
		s.backlog = s.backlog[1:]
	}
}

// postStream returns the stream of the POST that a message belongs to, unless that
// stream has ended.
func postStream(f Frame) *Stream {
	if x := f.postExchange(); x != nil && !x.stream.isEnded() {
		return x.stream
	}
	return nil
}
