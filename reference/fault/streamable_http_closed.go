package fault

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// closedConnections are faults in what follows when a client closes a connection or
// the stream of a request.
func closedConnections() []Fault {
	return []Fault{
		{
			Name:     "disconnect-ends-all-sessions",
			Does:     "forgets all sessions when a client closes its connections without ending its session",
			CaughtBy: []string{"streamable-http.connections.closed"},
			Apply:    forgetSessions,
		},
		{
			Name:     "closed-call-continued-elsewhere",
			Does:     "continues a call whose stream the client closed on the stream of another call",
			CaughtBy: []string{"streamable-http.cancellation.closed"},
			Apply: rerouteAbandoned(func(f server.Frame) bool {
				return f.Method == progressMethod || f.Method == "tools/call"
			}),
		},
		{
			Name:     "closed-call-answered-elsewhere",
			Does:     "answers a call whose stream the client closed on the stream of another call",
			CaughtBy: []string{"streamable-http.cancellation.closed"},
			Apply:    rerouteAbandoned(func(f server.Frame) bool { return f.Method == "tools/call" }),
		},
		{
			Name:     "closed-subscription-continued-elsewhere",
			Does:     "continues a subscription whose stream the client closed on the stream of another",
			CaughtBy: []string{"streamable-http.subscriptions.closed"},
			Apply:    rerouteAbandoned(isAbout(listenMethod)),
		},
		{
			Name:     "rounds-bound-to-connection",
			Does:     "refuses a requestState once the connection of its request is closed",
			CaughtBy: []string{"streamable-http.input-required.retry"},
			Apply:    bindStateToConnection,
		},
	}
}

// A sessionUse is what forgetSessions knows of a session.
type sessionUse struct {
	served  bool // a request other than initialize came
	streams int  // open streams of GETs
	left    bool // its client was served and closed its last stream
}

// forgetSessions answers every session with status 404 once a client that was
// served has closed its last stream of a GET without ending its session, and a
// request of another session has come.
func forgetSessions(o *server.Options) {
	var mu sync.Mutex
	known := map[string]*sessionUse{}
	forgotten := map[string]bool{}
	// begin notes a request of a session, and reports whether the session is forgotten.
	begin := func(id string, r *http.Request, m wire.Message) bool {
		mu.Lock()
		defer mu.Unlock()
		if known[id] == nil {
			known[id] = &sessionUse{}
		}
		use := known[id]
		use.served = use.served || m.Kind == wire.Request && m.Method() != "initialize"
		if r.Method == http.MethodDelete {
			delete(known, id)
		}
		for other, of := range known {
			if other != id && of.left {
				forgotten[other], forgotten[id] = true, id != ""
			}
		}
		return forgotten[id]
	}
	count := func(id string, streams int) {
		mu.Lock()
		defer mu.Unlock()
		if use := known[id]; use != nil {
			use.streams += streams
			use.left = use.streams == 0 && use.served
		}
	}
	onHTTP(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := r.Header.Get(sessionField)
			m, _ := posted(r)
			if begin(id, r, m) {
				http.NotFound(w, r)
				return
			}
			streams := 0
			next.ServeHTTP(&headWriter{ResponseWriter: w, edit: func(status int, _ http.Header) int {
				if r.Method == http.MethodGet && status == http.StatusOK {
					streams = 1
					count(id, streams)
				}
				return status
			}}, r)
			if streams > 0 {
				count(id, -streams)
			}
		})
	})(o)
}

// bindStateToConnection refuses a requestState that was returned over a connection
// which closed after the answer.
func bindStateToConnection(o *server.Options) {
	var gone sync.Map // by requestState
	onHTTP(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m, ok := posted(r)
			_, lost := gone.Load(m.Params().Get("requestState").String())
			switch {
			case ok && lost:
				const e = `{"code":-32602,"message":"The requestState is of another connection"}`
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID().Raw, e)
			case ok && r.Close:
				a := answerOf(next, r)
				if state := gjson.GetBytes(a.body.Bytes(), "result.requestState"); state.Exists() {
					gone.Store(state.String(), true)
				}
				a.send(w)
			default:
				next.ServeHTTP(w, r)
			}
		})
	})(o)
}

// rerouteAbandoned sends the messages that match, of requests whose client has left,
// on the stream of another request of the method. Calls are answered after those whose
// client has left, so that there is such a stream.
func rerouteAbandoned(matches frameMatcher) apply {
	return func(o *server.Options) {
		abandoned, streams := keepAbandonedWork(o), &openStreams{}
		calls := &openCalls{answered: map[*server.Request]chan struct{}{}}
		onHandler(func(next server.Handler) server.Handler {
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				if r.Method != "tools/call" {
					return next(ctx, r)
				}
				calls.begin(r)
				v, problem := next(ctx, r)
				if !abandoned.has(r.ID) {
					calls.await(ctx, abandoned)
				}
				return v, problem
			}
		})(o)
		onRoute(anyFrame, func(next server.Router, f server.Frame, p server.OpenStreams) []*server.Stream {
			if f.Kind != wire.Notification {
				defer calls.end(f.Request)
			}
			streams.note(f, p.Own)
			if f.Request == nil || !abandoned.has(f.Request.ID) {
				return next(f, p)
			}
			if !matches(f) {
				return nil
			}
			other := streams.newestOther(f.Request, func(r *server.Request) bool {
				return r.Method == f.Request.Method && !abandoned.has(r.ID)
			})
			if other == nil {
				return nil
			}
			return []*server.Stream{other}
		})(o)
	}
}

// openCalls are the calls that have not been answered.
type openCalls struct {
	mu       sync.Mutex
	answered map[*server.Request]chan struct{} // closed with the answer
}

func (c *openCalls) begin(r *server.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered[r] = make(chan struct{})
}

func (c *openCalls) end(r *server.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answered, ok := c.answered[r]; ok {
		close(answered)
		delete(c.answered, r)
	}
}

// await waits for the answers to the calls whose client has left.
func (c *openCalls) await(ctx context.Context, abandoned *requestCounts) {
	c.mu.Lock()
	var left []chan struct{}
	for r, answered := range c.answered {
		if abandoned.has(r.ID) {
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
