package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A webSession is a session over HTTP: one of the handshake revisions behind
// its id, or the connection of HTTP+SSE. It has a connection, and with it a
// desk, of its own.
type httpSession struct {
	id        string
	owner     string // its user, "" where nobody is told apart
	handler   *HTTPHandler
	conn      *conn
	sseStream *Stream // of HTTP+SSE, on which everything is said; else nil

	mu             sync.Mutex
	streamCount    int
	keptStreams    []*Stream // that can be resumed, oldest first
	getStreams     []*Stream // of a GET and connected, newest last
	backlog        []Frame   // for the next GET stream
	activeRequests int       // HTTP requests in progress
	lastUsed       time.Time
	idleTimer      *time.Timer
}

// Bounds of what a session may take: streams kept for who comes back and the
// bytes in them, GET streams at a time, and messages that wait for one and their
// bytes.
const (
	maxKeptStreams     = 100
	maxKeptStreamBytes = 2 * maxKeptBytes
	maxGetStreams      = 8
	maxBacklog         = 256
	maxBacklogBytes    = maxKeptBytes
)

// open makes a session of a user under a new id; nil if there is no room for it.
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

// makeRoom ends the session that was idle the longest, and tells whether there
// was one that is; h.mu is held.
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

// find returns the session of an id, nil for none.
func (h *HTTPHandler) findSession(id string) *httpSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// end ends a session: whoever names it from now on finds none
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

// enter and exit enclose one HTTP request of the session.
func (s *httpSession) beginRequest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.activeRequests++
	s.lastUsed = time.Now()
}

func (s *httpSession) endRequest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.activeRequests--
	s.lastUsed = time.Now()
}

// expire ends the session if it was idle for long enough, or looks again when
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

// stream makes a stream of the session. kind begins its label.
func (s *httpSession) newStream(kind string) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streamCount++
	t := newStream()
	t.Session, t.Label, t.resumable = s.id, fmt.Sprintf("%s%d", kind, s.streamCount), true
	t.primed = pollingRevisions.Has(s.conn.session.Revision())
	return t
}

// keep keeps a stream for who comes back to it.
func (s *httpSession) keepStream(t *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keptStreams = append(s.keptStreams, t)
	s.dropExcessStreams()
}

// trim forgets streams, first those that are over, as long as more is kept than
// may be; s.mu is held.
func (s *httpSession) dropExcessStreams() {
	size := 0
	for _, t := range s.keptStreams {
		size += t.keptSize()
	}
	for len(s.keptStreams) > maxKeptStreams || len(s.keptStreams) > 1 && size > maxKeptStreamBytes {
		i := max(slices.IndexFunc(s.keptStreams, (*Stream).isEnded), 0)
		size -= s.keptStreams[i].keptSize()
		s.keptStreams = slices.Delete(s.keptStreams, i, i+1)
	}
}

// stand makes a stream one of those that carry what belongs to no POST, and
// gives it what has waited for one.
func (s *httpSession) addGetStream(t *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.getStreams = slices.DeleteFunc(s.getStreams, func(other *Stream) bool { return other == t })
	if len(s.getStreams) >= maxGetStreams {
		s.getStreams[0].requestClose()
		s.getStreams = slices.Delete(s.getStreams, 0, 1)
	}
	s.getStreams = append(s.getStreams, t)
	for _, f := range s.backlog {
		t.append(f)
	}
	s.backlog = nil
}

// leave takes a stream whose client has left from them.
func (s *httpSession) removeGetStream(t *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.hasReader { // else the client came back by another connection
		s.getStreams = slices.DeleteFunc(s.getStreams, func(other *Stream) bool { return other == t })
	}
}

// put puts a message of the session on the streams that the seam Route names.
// Without one it waits for the next, unless it is a response, which belongs on
// no other stream than that of its request.
func (s *httpSession) send(f Frame) {
	if s.sseStream != nil {
		s.sseStream.append(f)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	streams := s.handler.route(f, Places{Own: postStream(f), Standing: slices.Clone(s.getStreams)})
	for _, t := range streams {
		t.append(f)
	}
	if len(streams) > 0 {
		s.dropExcessStreams()
		return
	}
	if f.isAnswer() {
		return
	}
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

// ownStream is the stream of the POST that a message belongs to, if that is not
// over.
func postStream(f Frame) *Stream {
	if x := f.postExchange(); x != nil && !x.stream.isEnded() {
		return x.stream
	}
	return nil
}
