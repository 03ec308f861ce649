package fault

import (
	"net/http"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// The methods that notifications on streams have most often.
const (
	progressMethod = "notifications/progress"
	logMethod      = "notifications/message"
)

// onEvent decorates the writer of the bytes of events and comments; it writes
// nothing for nil.
func onEvent(decorate func(next server.EventEncoder) server.EventEncoder) apply {
	return func(o *server.Options) { o.HTTP.EncodeEvent = outside(o.HTTP.EncodeEvent, decorate) }
}

// onEventWhen writes other bytes for the events that match.
func onEventWhen(matches func(e server.Event) bool, write func(next server.EventEncoder, e server.Event) []byte) apply {
	return onEvent(func(next server.EventEncoder) server.EventEncoder {
		return func(e server.Event) []byte {
			if matches(e) {
				return write(next, e)
			}
			return next(e)
		}
	})
}

// onMessageEvent writes other bytes for the events of the messages that match.
func onMessageEvent(matches frameMatcher, write func(next server.EventEncoder, e server.Event) []byte) apply {
	return onEventWhen(func(e server.Event) bool { return e.Frame != nil && matches(*e.Frame) }, write)
}

// onPrimingEvent writes other bytes for the events that prime a stream.
func onPrimingEvent(write func(next server.EventEncoder, e server.Event) []byte) apply {
	return onEventWhen(func(e server.Event) bool { return e.Frame == nil && e.ID != "" && !e.Comment }, write)
}

// writeNoEvent writes nothing for an event.
func writeNoEvent(server.EventEncoder, server.Event) []byte { return nil }

// A router returns the streams on which a message is sent.
type router = func(next server.Router, f server.Frame, p server.OpenStreams) []*server.Stream

// onRoute sends the messages that match on other streams.
func onRoute(matches frameMatcher, route router) apply {
	decorate := func(next server.Router) server.Router {
		return func(f server.Frame, p server.OpenStreams) []*server.Stream {
			if matches(f) {
				return route(next, f, p)
			}
			return next(f, p)
		}
	}
	return func(o *server.Options) { o.HTTP.Route = outside(o.HTTP.Route, decorate) }
}

// preferStreams answers each request by a stream.
func preferStreams(o *server.Options) { o.HTTP.PreferSSE = true }

// newestGetStream returns the newest stream of a GET, none if there is none.
func newestGetStream(p server.OpenStreams) []*server.Stream {
	return p.GetStreams[max(0, len(p.GetStreams)-1):]
}

// keepAbandonedWork goes on with requests whose client has left, and returns these
// requests.
func keepAbandonedWork(o *server.Options) *requestCounts {
	abandoned := newRequestCounts()
	o.HTTP.Disconnect = func(server.DisconnectHandler) server.DisconnectHandler { return func(bool, func()) {} }
	onHTTP(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m, ok := posted(r)
			next.ServeHTTP(w, r)
			if ok && r.Context().Err() != nil {
				abandoned.add(m.ID(), 1)
			}
		})
	})(o)
	return abandoned
}

// requestCounts counts requests by the key of their id.
type requestCounts struct {
	mu sync.Mutex
	n  map[string]int
}

func newRequestCounts() *requestCounts { return &requestCounts{n: map[string]int{}} }

func (c *requestCounts) add(id wire.ID, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[id.Key()] += n
}

func (c *requestCounts) has(id wire.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[id.Key()] > 0
}

// openStreams keeps the streams of requests, newest last, from their first
// notification to their answer.
type openStreams struct {
	mu  sync.Mutex
	all []openStream
}

type openStream struct {
	request *server.Request
	stream  *server.Stream
}

// note keeps the stream of the request that a message belongs to.
func (s *openStreams) note(f server.Frame, own *server.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Request == nil || own == nil {
		return
	}
	kept := s.all[:0]
	known := false
	for _, e := range s.all {
		same := e.request == f.Request
		if known = known || same; !same || f.Kind == wire.Notification {
			kept = append(kept, e)
		}
	}
	if s.all = kept; !known && f.Kind == wire.Notification {
		s.all = append(s.all, openStream{f.Request, own})
	}
}

// newestOther returns the stream of the newest other request that matches, nil for
// none.
func (s *openStreams) newestOther(than *server.Request, matches requestMatcher) *server.Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.all) - 1; i >= 0; i-- {
		if e := s.all[i]; e.request != than && matches(e.request) {
			return e.stream
		}
	}
	return nil
}
