package fault

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// httpStreams are the faults of the event streams of basic/transports#streamable-http
// and basic/transports/streamable-http.
func httpStreams() []Fault {
	faults := slices.Concat(streamEndFaults(), streamEventFaults(), streamRouteFaults(), resumingFaults(), leavingFaults())
	for i := range faults {
		faults[i].Over = transport.HTTP
	}
	return faults
}

// Of the revisions with sessions, those in which a stream may not and may be
// closed to be polled.
func withoutPolling() spec.Set { return spec.Between(spec.V2025_03_26, spec.V2025_06_18) }
func polling() spec.Set        { return spec.Only(spec.V2025_11_25) }

// streamEndFaults are those of how a stream is opened and how it ends.
func streamEndFaults() []Fault {
	closed := []string{"streamable-http.stream.closed"}
	get := func(name, does string, answer func(w http.ResponseWriter)) Fault {
		return Fault{
			Name: name, Does: does, In: sessions,
			Breaks:   []string{"streamable-http-get-sse-or-405"},
			CaughtBy: []string{"streamable-http.get.answer"},
			Apply:    all(quietly, listenedTo(answer)),
		}
	}
	return []Fault{
		{
			Name: "stream-closed-before-response", Does: "closes the stream of a call that logs where its response should be",
			CaughtBy: []string{"streamable-http.stream.early-close"},
			Apply:    onMessage(answersTool("read_desk_log"), unwritten),
		},
		{
			Name: "stream-closed-at-once", Does: "answers a call that asks for nothing else by a stream on which nothing comes",
			CaughtBy: []string{"streamable-http.stream.early-close"},
			Apply:    all(streaming, onMessage(answersTool("show_exhibits"), unwritten)),
		},
		{
			Name: "stream-ends-without-response", Does: "ends the stream of a call that logs where its response should be", In: spec.Stateless,
			CaughtBy: []string{"streamable-http.stream.response"},
			Apply:    onMessage(answersTool("read_desk_log"), unwritten),
		},
		{
			Name: "stream-closed-for-good", Does: "closes the stream of a call that logs where its response should be, and lets nobody take up a stream", In: polling(),
			CaughtBy: []string{"streamable-http.stream.response"},
			Apply: all(onMessage(answersTool("read_desk_log"), unwritten), retrying(100*time.Millisecond), whenHTTP(has("Last-Event-ID"), func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusMethodNotAllowed)
			})),
		},
		{
			Name: "stream-open-after-response", Does: "keeps the streams of calls open after their response",
			CaughtBy: closed,
			Apply:    held("tools/call"),
		},
		{
			Name: "streams-of-pings-open", Does: "answers all by streams, and keeps those open that any client may ask for at any time",
			CaughtBy: closed,
			Apply:    all(streaming, held("ping", "server/discover")),
		},
		{
			Name: "polled-without-retry", Does: "closes connections of streams to be polled, and does not say when",
			CaughtBy: []string{"streamable-http.stream.retry"},
			Apply: all(pollingSoon, onEvent(func(next server.Eventer) server.Eventer {
				return func(e server.Event) []byte {
					if e.Retry > 0 {
						return nil
					}
					return next(e)
				}
			})),
		},
		{
			Name: "polled-some-time", Does: "closes connections of streams to be polled, and gives a word for the time",
			CaughtBy: []string{"streamable-http.stream.retry"},
			Apply: all(pollingSoon, onEvent(func(next server.Eventer) server.Eventer {
				return func(e server.Event) []byte {
					if e.Retry > 0 {
						return []byte("retry: soon\ndata:\n\n")
					}
					return next(e)
				}
			})),
		},
		get("get-as-json", "answers a GET with JSON", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"name":"harbour-street-library"}`)
		}),
		get("get-refused", "answers a GET with status 400", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadRequest) }),
		get("get-empty", "answers a GET with status 204", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }),
		{
			Name: "task-state-streamed", Does: "answers tasks/get with an event stream, and other requests with JSON",
			CaughtBy: []string{"tasks.get.plain"},
			Apply:    taskStreamed,
		},
	}
}

// listenedTo answers each GET of a session that was not ended in another way.
func listenedTo(answer func(w http.ResponseWriter)) apply {
	return func(o *server.Options) {
		var mu sync.Mutex
		ended := map[string]bool{}
		whenHTTP(func(r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			id := r.Header.Get("Mcp-Session-Id")
			ended[id] = ended[id] || r.Method == http.MethodDelete
			return r.Method == http.MethodGet && !ended[id]
		}, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { answer(w) })(o)
	}
}

// unwritten leaves out an event.
func unwritten(server.Eventer, server.Event) []byte { return nil }

// quietly has the server promise nothing that it tells on the stream of a GET.
func quietly(o *server.Options) {
	o.Library = func(l *server.Library) {
		for _, name := range []string{"prompts", "resources", "tools"} {
			l.Capabilities[name] = server.Object{}
		}
	}
}

// pollingSoon has clients come back soon for what takes long.
func pollingSoon(o *server.Options) {
	o.HTTP.Hold, o.HTTP.Retry = 30*time.Millisecond, time.Millisecond
}

// retrying says at the beginning of a stream when to come back.
func retrying(after time.Duration) apply {
	return onPriming(func(next server.Eventer, e server.Event) []byte {
		e.Retry = after
		return next(e)
	})
}

// held keeps the connections open on which requests of a method were answered by
// a stream, until the client leaves.
func held(methods ...string) apply {
	return whenHTTP(func(r *http.Request) bool {
		m, ok := posted(r)
		return ok && slices.Contains(methods, m.Method())
	}, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		if w.Header().Get("Content-Type") == "text/event-stream" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
}

// taskStreamed wraps answers to tasks/get into a stream that is primed.
func taskStreamed(o *server.Options) {
	var n atomic.Int64
	onWhole(posts(wire.Request, "tasks/get"), func(a *whole) {
		if a.status != http.StatusOK {
			return
		}
		at := n.Add(1)
		a.set(http.StatusOK, "text/event-stream", fmt.Appendf(nil, "id: t%d-0\ndata: \n\nid: t%d-1\ndata: %s\n\n", at, at, bytes.TrimSpace(a.body.Bytes())))
	})(o)
}

// resumingFaults are those of streams that are taken up again.
func resumingFaults() []Fault {
	own, cursor := []string{"streamable-http.replay.own"}, []string{"streamable-http.replay.cursor"}
	return []Fault{
		{
			Name: "replays-all-streams", Does: "sends who takes up a stream what was said on all others too",
			CaughtBy: own,
			Apply: onReplay(func(_ *server.Stream, missed []server.Event, others []*server.Stream) []server.Event {
				for _, o := range others {
					missed = append(missed, o.Events()...)
				}
				return missed
			}),
		},
		{
			Name: "replays-another-stream", Does: "sends who takes up a stream what was said on the newest other one of a request instead",
			CaughtBy: own,
			Apply: onReplay(func(_ *server.Stream, missed []server.Event, others []*server.Stream) []server.Event {
				for _, o := range slices.Backward(others) {
					if all := o.Events(); len(all) > 0 && all[0].Frame.Method == progressed {
						return append(all, missed...)
					}
				}
				return missed
			}),
		},
		{
			Name: "replays-later-responses", Does: "sends who takes up a stream the responses of requests that came after its own",
			CaughtBy: own,
			Apply: onReplay(func(s *server.Stream, missed []server.Event, others []*server.Stream) []server.Event {
				for _, o := range others {
					for _, e := range o.Events() {
						if len(o.Label) >= len(s.Label) && o.Label > s.Label && e.Frame.Kind == wire.Result {
							missed = append(missed, e)
						}
					}
				}
				return missed
			}),
		},
		{
			Name: "replays-from-the-start", Does: "sends who takes up a stream all that was said on it",
			CaughtBy: cursor,
			Apply:    onReplay(func(s *server.Stream, _ []server.Event, _ []*server.Stream) []server.Event { return s.Events() }),
		},
		{
			Name: "replays-the-last-event", Does: "sends who takes up a stream the event again that the client names",
			CaughtBy: cursor,
			Apply: onReplay(func(s *server.Stream, missed []server.Event, _ []*server.Stream) []server.Event {
				all := s.Events()
				return all[max(0, len(all)-len(missed)-1):]
			}),
		},
	}
}

// leavingFaults are those of what a client brings about that leaves.
func leavingFaults() []Fault {
	kept := []string{"streamable-http.stream.disconnect"}
	return []Fault{
		{
			Name: "disconnect-cancels", Does: "cancels the requests of a connection that is lost",
			CaughtBy: kept,
			Apply: func(o *server.Options) {
				o.HTTP.Disconnect = func(server.Leaver) server.Leaver { return func(_ bool, cancel func()) { cancel() } }
			},
		},
		{
			Name: "disconnect-fails-the-call", Does: "fails the call whose connection was lost",
			CaughtBy: kept,
			Apply:    failsLost,
		},
		{
			Name: "closed-call-told-elsewhere", Does: "goes on with a call whose stream the client has closed, on that of another",
			CaughtBy: []string{"cancellation.closed"},
			Apply:    elsewhere(func(f server.Frame) bool { return f.Method == progressed || f.Method == "tools/call" }),
		},
		{
			Name: "closed-call-answered-elsewhere", Does: "answers a call whose stream the client has closed on that of another",
			CaughtBy: []string{"cancellation.closed"},
			Apply:    elsewhere(func(f server.Frame) bool { return f.Method == "tools/call" }),
		},
		{
			Name: "closed-subscription-told-elsewhere", Does: "goes on with a subscription whose stream the client has closed, on that of another",
			CaughtBy: []string{"subscriptions.closed"},
			Apply:    elsewhere(func(f server.Frame) bool { return f.Request != nil && f.Request.Method == listen }),
		},
		{
			Name: "leaving-ends-all", Does: "forgets all sessions when a client closes its connections that was served and does not end its session", In: sessions,
			CaughtBy: []string{"lifecycle.connections.closed"},
			Apply:    forgetful,
		},
	}
}

// failsLost turns the next result of the stocktake into a failure once a client of
// a session has left.
func failsLost(o *server.Options) {
	var lost atomic.Bool
	o.HTTP.Disconnect = func(next server.Leaver) server.Leaver {
		return func(stateless bool, cancel func()) {
			lost.Store(lost.Load() || !stateless)
			next(stateless, cancel)
		}
	}
	onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if result, ok := v.(server.Object); ok && r.Method == "tools/call" && r.Params["name"] == "stocktake" && lost.CompareAndSwap(true, false) {
				result["isError"] = true
			}
			return v, problem
		}
	})(o)
}

// elsewhere puts messages of requests whose client has left, if they fit, on the
// stream of another request of the method. Calls are answered behind those whose
// client has left, so that there is such a stream.
func elsewhere(fits func(f server.Frame) bool) apply {
	return func(o *server.Options) {
		gone, r, calls := staying(o), &roster{}, &calling{open: map[*server.Request]chan struct{}{}}
		onHandler(func(next server.Handler) server.Handler {
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				if r.Method != "tools/call" {
					return next(ctx, r)
				}
				calls.begin(r)
				v, problem := next(ctx, r)
				if !gone.has(r.ID) {
					calls.await(ctx, gone)
				}
				return v, problem
			}
		})(o)
		onRoute(func(server.Frame) bool { return true }, func(next server.Router, f server.Frame, p server.Places) []*server.Stream {
			if f.Kind != wire.Notification {
				defer calls.end(f.Request)
			}
			r.note(f, p.Own)
			if f.Request == nil || !gone.has(f.Request.ID) {
				return next(f, p)
			}
			if !fits(f) {
				return nil
			}
			other := r.other(f.Request, func(other *server.Request) bool { return other.Method == f.Request.Method && !gone.has(other.ID) })
			if other == nil {
				return nil
			}
			return []*server.Stream{other}
		})(o)
	}
}

// calling keeps the calls that have not been answered.
type calling struct {
	mu   sync.Mutex
	open map[*server.Request]chan struct{} // closed with the answer
}

func (c *calling) begin(r *server.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[r] = make(chan struct{})
}

func (c *calling) end(r *server.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answered, known := c.open[r]; known {
		close(answered)
		delete(c.open, r)
	}
}

// await waits for the answers to calls whose client has left.
func (c *calling) await(ctx context.Context, gone *inFlight) {
	c.mu.Lock()
	var left []chan struct{}
	for r, answered := range c.open {
		if gone.has(r.ID) {
			left = append(left, answered)
		}
	}
	c.mu.Unlock()
	for _, answered := range left {
		select {
		case <-answered:
		case <-ctx.Done():
		}
	}
}

// forgetful answers every session with 404 from the time on when a request comes of
// another after a client that was served has closed its last stream of a GET and did not
// end its session.
func forgetful(o *server.Options) {
	type client struct {
		served, gone bool
		streams      int
	}
	var mu sync.Mutex
	known := map[string]*client{}
	forgotten := map[string]bool{}
	// came notes a request of a session, and tells whether the session is forgotten.
	came := func(id string, r *http.Request, m wire.Message) bool {
		mu.Lock()
		defer mu.Unlock()
		if known[id] == nil {
			known[id] = &client{}
		}
		c := known[id]
		c.served = c.served || m.Kind == wire.Request && m.Method() != "initialize"
		switch r.Method {
		case http.MethodDelete:
			delete(known, id)
		case http.MethodGet:
			c.streams++
		}
		for other, left := range known {
			if other != id && left.gone {
				maps.Copy(forgotten, map[string]bool{other: true, id: id != ""})
			}
		}
		return forgotten[id]
	}
	onHTTP(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := r.Header.Get("Mcp-Session-Id")
			m, _ := posted(r)
			if came(id, r, m) {
				http.NotFound(w, r)
				return
			}
			next.ServeHTTP(w, r)
			mu.Lock()
			defer mu.Unlock()
			if c := known[id]; c != nil && r.Method == http.MethodGet {
				c.streams--
				c.gone = c.streams == 0 && c.served
			}
		})
	})(o)
}
