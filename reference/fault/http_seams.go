package fault

import (
	"net/http"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onEvent decorates what makes the bytes of events and comments; nil is none.
func onEvent(decorate func(next server.Eventer) server.Eventer) apply {
	return func(o *server.Options) {
		inner := o.HTTP.Event
		o.HTTP.Event = func(next server.Eventer) server.Eventer {
			if inner != nil {
				next = inner(next)
			}
			return decorate(next)
		}
	}
}

// onMessage makes other bytes of the events that carry messages which fit.
func onMessage(fits func(f server.Frame) bool, write func(next server.Eventer, e server.Event) []byte) apply {
	return onEvent(func(next server.Eventer) server.Eventer {
		return func(e server.Event) []byte {
			if e.Frame != nil && fits(*e.Frame) {
				return write(next, e)
			}
			return next(e)
		}
	})
}

// onPriming makes other bytes of the events that prime a stream.
func onPriming(write func(next server.Eventer, e server.Event) []byte) apply {
	return onEvent(func(next server.Eventer) server.Eventer {
		return func(e server.Event) []byte {
			if e.Frame == nil && e.ID != "" && !e.Comment {
				return write(next, e)
			}
			return next(e)
		}
	})
}

// onEventID gives events other ids.
func onEventID(id func(e server.Event) string) apply {
	return onEvent(func(next server.Eventer) server.Eventer {
		return func(e server.Event) []byte {
			if e.ID != "" {
				e.ID = id(e)
			}
			return next(e)
		}
	})
}

// onRoute puts messages that fit on other streams.
func onRoute(fits func(f server.Frame) bool, route func(next server.Router, f server.Frame, p server.Places) []*server.Stream) apply {
	return func(o *server.Options) {
		inner := o.HTTP.Route
		o.HTTP.Route = func(next server.Router) server.Router {
			if inner != nil {
				next = inner(next)
			}
			return func(f server.Frame, p server.Places) []*server.Stream {
				if fits(f) {
					return route(next, f, p)
				}
				return next(f, p)
			}
		}
	}
}

// onReplay sends something else to a client that takes up a stream.
func onReplay(replay server.Replayer) apply {
	return func(o *server.Options) {
		o.HTTP.Replay = func(server.Replayer) server.Replayer { return replay }
	}
}

// streaming has the server answer each request by a stream.
func streaming(o *server.Options) { o.HTTP.PreferSSE = true }

// listening is the newest stream of a GET, none if there is none.
func listening(p server.Places) []*server.Stream {
	return p.Standing[max(0, len(p.Standing)-1):]
}

// notifies fits notifications of a method.
func notifies(method string) func(f server.Frame) bool {
	return func(f server.Frame) bool { return f.Kind == wire.Notification && f.Method == method }
}

const (
	progressed = "notifications/progress"
	logged     = "notifications/message"
)

// answersTool fits what answers calls of a tool.
func answersTool(name string) func(f server.Frame) bool {
	return func(f server.Frame) bool {
		return (f.Kind == wire.Result || f.Kind == wire.Error) && f.Method == "tools/call" && f.Request != nil && f.Request.Params["name"] == name
	}
}

// answersTo fits results of a method.
func answersTo(method string) func(f server.Frame) bool {
	return func(f server.Frame) bool { return f.Kind == wire.Result && f.Method == method }
}

// staying has the work on requests go on whose client has left, and keeps these
// requests.
func staying(o *server.Options) *inFlight {
	gone := &inFlight{n: map[string]int{}}
	o.HTTP.Disconnect = func(server.Leaver) server.Leaver { return func(bool, func()) {} }
	onHTTP(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m, ok := posted(r)
			next.ServeHTTP(w, r)
			if ok && r.Context().Err() != nil {
				gone.add(m.ID(), 1)
			}
		})
	})(o)
	return gone
}

// A roster keeps the streams of requests, newest last, from their first message to
// their answer.
type roster struct {
	mu  sync.Mutex
	all []entry
}

type entry struct {
	request *server.Request
	on      *server.Stream
}

// note keeps the stream of the request that a message is about.
func (r *roster) note(f server.Frame, own *server.Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Request == nil || own == nil {
		return
	}
	kept := r.all[:0]
	known := false
	for _, e := range r.all {
		same := e.request == f.Request
		if known = known || same; !same || f.Kind == wire.Notification {
			kept = append(kept, e)
		}
	}
	if r.all = kept; !known && f.Kind == wire.Notification {
		r.all = append(r.all, entry{f.Request, own})
	}
}

// other returns the stream of the newest other request that fits, nil for none.
func (r *roster) other(than *server.Request, fits func(*server.Request) bool) *server.Stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.all) - 1; i >= 0; i-- {
		if e := r.all[i]; e.request != than && fits(e.request) {
			return e.on
		}
	}
	return nil
}
