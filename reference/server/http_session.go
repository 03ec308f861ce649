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
type webSession struct {
	id    string
	owner string // its user, "" where nobody is told apart
	web   *Web
	conn  *conn
	only  *Stream // of HTTP+SSE, on which everything is said; else nil

	mu       sync.Mutex
	labels   int
	kept     []*Stream // that can be resumed, oldest first
	standing []*Stream // of a GET and connected, newest last
	backlog  []Frame   // for the next GET stream
	busy     int       // HTTP requests in progress
	used     time.Time
	idle     *time.Timer
}

// Bounds of what a session may take: streams kept for who comes back and the
// bytes in them, GET streams at a time, and messages that wait for one and their
// bytes.
const (
	keptStreams     = 100
	keptInStreams   = 2 * keptBytes
	standingStreams = 8
	maxBacklog      = 256
	backlogBytes    = keptBytes
)

// open makes a session of a user under a new id; nil if there is no room for it.
func (h *Web) open(o Options, owner string, sse bool) *webSession {
	s := &webSession{id: h.mint(), owner: owner, web: h, used: time.Now()}
	if sse {
		s.only = newStream()
		s.only.Session, s.only.name = s.id, "message"
	}
	ctx, stop := context.WithCancelCause(h.ctx)
	s.conn = newConn(ctx, stop, s.put, o)
	h.mu.Lock()
	if h.closed || len(h.sessions) >= h.o.HTTP.MaxSessions && !h.makeRoom() {
		h.mu.Unlock()
		stop(errStopped)
		return nil
	}
	h.sessions[s.id] = s
	h.mu.Unlock()
	s.conn.start()
	s.mu.Lock()
	s.idle = time.AfterFunc(h.o.HTTP.Idle, s.expire)
	s.mu.Unlock()
	return s
}

// makeRoom ends the session that was idle the longest, and tells whether there
// was one that is; h.mu is held.
func (h *Web) makeRoom() bool {
	var oldest *webSession
	var since time.Time
	for _, s := range h.sessions {
		s.mu.Lock()
		if s.busy == 0 && (oldest == nil || s.used.Before(since)) {
			oldest, since = s, s.used
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
func (h *Web) find(id string) *webSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// end ends a session: whoever names it from now on finds none
// (basic/transports#session-management). It does not wait for what is still in
// flight.
func (h *Web) end(s *webSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.id] == s {
		delete(h.sessions, s.id)
		h.work.Go(s.close)
	}
}

// close ends what is in flight, and every stream.
func (s *webSession) close() {
	s.mu.Lock()
	if s.idle != nil {
		s.idle.Stop()
	}
	s.mu.Unlock()
	s.conn.drain()
	s.conn.stop(errStopped)
	if s.only != nil {
		s.only.end()
	}
}

// enter and exit enclose one HTTP request of the session.
func (s *webSession) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy++
	s.used = time.Now()
}

func (s *webSession) exit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.used = time.Now()
}

// expire ends the session if it was idle for long enough, or looks again when
// it would be.
func (s *webSession) expire() {
	s.mu.Lock()
	rest := s.web.o.HTTP.Idle
	if s.busy == 0 {
		rest -= time.Since(s.used)
	}
	if rest > 0 {
		s.idle.Reset(rest)
	}
	s.mu.Unlock()
	if rest <= 0 {
		s.web.end(s)
	}
}

// stream makes a stream of the session. kind begins its label.
func (s *webSession) stream(kind string) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.labels++
	t := newStream()
	t.Session, t.Label, t.resumable = s.id, fmt.Sprintf("%s%d", kind, s.labels), true
	t.primed = polling.Has(s.conn.session.Revision())
	return t
}

// keep keeps a stream for who comes back to it.
func (s *webSession) keep(t *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, t)
	s.trim()
}

// trim forgets streams, first those that are over, as long as more is kept than
// may be; s.mu is held.
func (s *webSession) trim() {
	size := 0
	for _, t := range s.kept {
		size += t.held()
	}
	for len(s.kept) > keptStreams || len(s.kept) > 1 && size > keptInStreams {
		i := max(slices.IndexFunc(s.kept, (*Stream).over), 0)
		size -= s.kept[i].held()
		s.kept = slices.Delete(s.kept, i, i+1)
	}
}

// stand makes a stream one of those that carry what belongs to no POST, and
// gives it what has waited for one.
func (s *webSession) stand(t *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standing = slices.DeleteFunc(s.standing, func(other *Stream) bool { return other == t })
	if len(s.standing) >= standingStreams {
		s.standing[0].hang()
		s.standing = slices.Delete(s.standing, 0, 1)
	}
	s.standing = append(s.standing, t)
	for _, f := range s.backlog {
		t.put(f)
	}
	s.backlog = nil
}

// leave takes a stream whose client has left from them.
func (s *webSession) leave(t *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reading { // else the client came back by another connection
		s.standing = slices.DeleteFunc(s.standing, func(other *Stream) bool { return other == t })
	}
}

// put puts a message of the session on the streams that the seam Route names.
// Without one it waits for the next, unless it is a response, which belongs on
// no other stream than that of its request.
func (s *webSession) put(f Frame) {
	if s.only != nil {
		s.only.put(f)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	streams := s.web.route(f, Places{Own: ownStream(f), Standing: slices.Clone(s.standing)})
	for _, t := range streams {
		t.put(f)
	}
	if len(streams) > 0 {
		s.trim()
		return
	}
	if f.answers() {
		return
	}
	s.backlog = append(s.backlog, f)
	size := 0
	for _, waiting := range s.backlog {
		size += len(waiting.Raw)
	}
	for len(s.backlog) > maxBacklog || len(s.backlog) > 1 && size > backlogBytes {
		size -= len(s.backlog[0].Raw)
		s.backlog = s.backlog[1:]
	}
}

// ownStream is the stream of the POST that a message belongs to, if that is not
// over.
func ownStream(f Frame) *Stream {
	if x := f.post(); x != nil && !x.stream.over() {
		return x.stream
	}
	return nil
}
