package fault

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// statelessHTTP are the faults of what streamable HTTP has since 2026-07-28
// alone: no session, no stream to listen on, nothing that is resumed, and the
// status that goes with an error.
func statelessHTTP() []Fault {
	all := append(earlierTransport(), append(statelessStreams(), statuses()...)...)
	for i := range all {
		all[i].In, all[i].Over = spec.Stateless, transport.HTTP
	}
	return all
}

// earlierTransport are those of what earlier revisions had
// (basic/transports/streamable-http#earlier-streamable-http-revisions).
func earlierTransport() []Fault {
	anyModern := func(r *http.Request) bool { _, ok := stateless(r); return ok }
	return []Fault{
		{
			Name: "get-is-404", Does: "answers GET with status 404, and has no handshake revisions",
			CaughtBy: []string{"streamable-http.post.only"},
			Apply:    all(modern, onStatus(by(http.MethodGet), http.StatusMethodNotAllowed, http.StatusNotFound)),
		},
		{
			Name: "get-listens", Does: "answers GET with a stream that tells nothing, and has no handshake revisions",
			CaughtBy: []string{"streamable-http.post.only"},
			Apply: all(modern, whenHTTP(by(http.MethodGet), func(_ http.Handler, w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("X-Accel-Buffering", "no")
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})),
		},
		{
			Name: "delete-is-200", Does: "answers DELETE with status 200, and has no handshake revisions",
			CaughtBy: []string{"streamable-http.post.only"},
			Apply:    all(modern, onStatus(by(http.MethodDelete), http.StatusMethodNotAllowed, http.StatusOK)),
		},
		{
			Name: "session-minted-statelessly", Does: "gives stateless requests a session id",
			CaughtBy: []string{"streamable-http.session.none"},
			Apply:    onHead(anyModern, func(_ int, h http.Header) { h.Set("Mcp-Session-Id", "reader-1") }),
		},
		{
			Name: "session-echoed", Does: "repeats the session id of a stateless request, and has no handshake revisions",
			CaughtBy: []string{"streamable-http.session.none"},
			Apply: all(modern, whenHTTP(both(anyModern, has("Mcp-Session-Id")), func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Mcp-Session-Id", r.Header.Get("Mcp-Session-Id"))
				next.ServeHTTP(w, r)
			})),
		},
		{
			Name: "session-looked-up-statelessly", Does: "refuses a stateless request that names an unknown session, and has no handshake revisions",
			CaughtBy: []string{"streamable-http.session.none"},
			Apply: all(modern, whenHTTP(both(anyModern, has("Mcp-Session-Id")), func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "There is no such session", http.StatusNotFound)
			})),
		},
		{
			Name: "last-event-id-refused", Does: "refuses a POST with Last-Event-ID, and has no handshake revisions",
			CaughtBy: []string{"streamable-http.event.id.ignored"},
			Apply: all(modern, whenHTTP(both(anyModern, has("Last-Event-ID")), func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "Events cannot be had again", http.StatusBadRequest)
			})),
		},
		{
			Name: "streams-resumed-statelessly", Does: "repeats what was sent behind an event to who comes back with its id, and has no handshake revisions",
			CaughtBy: []string{"streamable-http.stream.resumed"},
			Apply:    all(modern, resuming),
		},
	}
}

// resuming numbers all events, and repeats those that came later to a GET that
// names one.
func resuming(o *server.Options) {
	var mu sync.Mutex
	var sent [][]byte
	inner := o.HTTP.Event
	o.HTTP.Event = func(next server.Eventer) server.Eventer {
		if inner != nil {
			next = inner(next)
		}
		return func(e server.Event) []byte {
			b := next(e)
			if len(b) == 0 || e.Data == nil {
				return b
			}
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, fmt.Appendf(nil, "id: %d\n%s", len(sent), b))
			return sent[len(sent)-1]
		}
	}
	whenHTTP(both(by(http.MethodGet), has("Last-Event-ID")), func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		last, err := strconv.Atoi(r.Header.Get("Last-Event-ID"))
		mu.Lock()
		defer mu.Unlock()
		if err != nil || last < 0 || last >= len(sent) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no")
		_, _ = w.Write(bytes.Join(sent[last+1:], nil)) // who cannot be written to has left
	})(o)
}

// statelessStreams are those of streams of requests
// (basic/transports/streamable-http#receiving-messages).
func statelessStreams() []Fault {
	return []Fault{
		{
			Name: "request-on-a-stream", Does: "sends a request of its own on the stream of a call",
			Breaks:   []string{"streamable-http-no-server-requests"},
			CaughtBy: []string{"jsonrpc.request.none"},
			Apply: beforeAnswer("tools/call", func(_ context.Context, r *server.Request) {
				if r.Params["name"] == "stocktake" {
					r.Send(server.Frame{Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"desk-%x","method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}}`, r.ID.Raw), Kind: wire.Request, Method: "sampling/createMessage", Request: r})
				}
			}),
		},
		{
			Name: "streams-buffered", Does: "does not ask proxies to let streams through",
			CaughtBy: []string{"streamable-http.stream.unbuffered"},
			Apply:    onHead(by(http.MethodPost), func(_ int, h http.Header) { h.Del("X-Accel-Buffering") }),
		},
		{
			Name: "subscription-streams-buffered", Does: "tells proxies that they may hold the stream of a subscription back",
			CaughtBy: []string{"streamable-http.stream.unbuffered"},
			Apply: onHead(posts(wire.Request, "subscriptions/listen"), func(_ int, h http.Header) {
				h.Set("X-Accel-Buffering", "yes")
			}),
		},
		{
			Name: "progress-on-subscriptions", Does: "reports progress on the stream of a subscription too",
			CaughtBy: []string{"streamable-http.listen.scope"},
			Apply:    onSubscriptions("notifications/progress"),
		},
		{
			Name: "logs-on-subscriptions", Does: "logs on the stream of a subscription too",
			CaughtBy: []string{"streamable-http.listen.scope"},
			Apply:    onSubscriptions("notifications/message"),
		},
	}
}

// onSubscriptions puts the notifications of a method on the streams of
// subscriptions as well as where they belong.
func onSubscriptions(method string) apply {
	return func(o *server.Options) {
		o.HTTP.Route = func(next server.Router) server.Router {
			var mu sync.Mutex
			var open []*server.Stream
			return func(f server.Frame, p server.Places) []*server.Stream {
				on := next(f, p)
				mu.Lock()
				defer mu.Unlock()
				if f.Method == "notifications/subscriptions/acknowledged" {
					open = append(open, on...)
				}
				if f.Method == method {
					on = append(on, open...)
				}
				return on
			}
		}
	}
}

// statuses are those of the status that goes with an error.
func statuses() []Fault {
	request := func(r *http.Request, _ wire.Message) bool { return r.Method == http.MethodPost }
	return []Fault{
		{
			Name: "unknown-method-is-200", Does: "answers an unknown method with status 200",
			CaughtBy: []string{"streamable-http.method.unknown"},
			Apply:    onRefusal(spec.MethodNotFound, request, withStatus(http.StatusOK)),
		},
		{
			Name: "unknown-method-is-400", Does: "answers an unknown method with status 400",
			CaughtBy: []string{"streamable-http.method.unknown"},
			Apply:    onRefusal(spec.MethodNotFound, request, withStatus(http.StatusBadRequest)),
		},
		{
			Name: "incomplete-meta-is-200", Does: "refuses a request without client capabilities with status 200",
			CaughtBy: []string{"lifecycle.meta.status"},
			Apply:    onRefusal(spec.InvalidParams, request, withStatus(http.StatusOK)),
		},
		{
			Name: "incomplete-meta-is-422", Does: "refuses a request without client capabilities with status 422",
			CaughtBy: []string{"lifecycle.meta.status"},
			Apply:    onRefusal(spec.InvalidParams, request, withStatus(http.StatusUnprocessableEntity)),
		},
		{
			Name: "lacking-capability-is-200", Does: "refuses a request for want of a client capability with status 200",
			CaughtBy: []string{"lifecycle.capabilities.status"},
			Apply:    onRefusal(spec.MissingClientCapability, request, withStatus(http.StatusOK)),
		},
		{
			Name: "lacking-capability-is-404", Does: "refuses a request for want of a client capability with status 404",
			CaughtBy: []string{"lifecycle.capabilities.status"},
			Apply:    onRefusal(spec.MissingClientCapability, request, withStatus(http.StatusNotFound)),
		},
		{
			Name: "unsupported-version-is-200", Does: "refuses an unknown version with status 200",
			CaughtBy: []string{"versioning.unsupported.status"},
			Apply:    onRefusal(spec.UnsupportedVersion, request, withStatus(http.StatusOK)),
		},
		{
			Name: "unsupported-version-on-a-stream", Does: "refuses an unknown version on a stream",
			CaughtBy: []string{"versioning.unsupported.status"},
			Apply: onRefusal(spec.UnsupportedVersion, request, func(a *whole) {
				body := bytes.Clone(a.body.Bytes())
				a.set(http.StatusOK, "text/event-stream", fmt.Appendf(nil, "data: %s\n\n", body))
				a.header.Set("X-Accel-Buffering", "no")
			}),
		},
		{
			Name: "bad-cursor-is-header-mismatch", Does: "answers a cursor that it never gave with error -32020, over HTTP alone",
			CaughtBy: []string{"jsonrpc.code.mcp.meaning"},
			Also:     map[string]string{"pagination.cursor.invalid": "the code for such a cursor is another"},
			Apply: onError("", func(r *server.Request, e *server.Error) (any, *server.Error) {
				if strings.HasSuffix(r.Method, "/list") && r.Params["cursor"] != nil && r.Params["_meta"] != nil && e.Code == spec.InvalidParams {
					e.Code = spec.HeaderMismatch
				}
				return nil, e
			}),
		},
		{
			Name: "unknown-prompt-is-header-mismatch", Does: "answers a prompt that it does not have with error -32020, over HTTP alone",
			CaughtBy: []string{"jsonrpc.code.mcp.meaning"},
			Also:     map[string]string{"prompts.get.unknown": "the code for such a prompt is another"},
			Apply: onError("prompts/get", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				if e.Code == spec.InvalidParams && strings.Contains(e.Message, "nknown prompt") {
					e.Code = spec.HeaderMismatch
				}
				return nil, e
			}),
		},
		{
			Name: "rounds-bound-to-connection", Does: "forgets what it asked for when the connection is closed that it asked over",
			CaughtBy: []string{"mrtr.retry.elsewhere"},
			Apply:    bound,
		},
	}
}

// bound refuses a requestState that was given over a connection which closed
// behind the answer.
func bound(o *server.Options) {
	var gone sync.Map // by requestState
	onHTTP(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m, ok := posted(r)
			state := m.Params().Get("requestState").String()
			switch _, lost := gone.Load(state); {
			case ok && lost:
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"Nothing was asked for on this connection"}}`, m.ID().Raw)
			case ok && r.Close:
				a := &whole{header: http.Header{}, status: http.StatusOK}
				next.ServeHTTP(a, r)
				if given := gjson.GetBytes(a.body.Bytes(), "result.requestState"); given.Exists() {
					gone.Store(given.String(), true)
				}
				for key, values := range a.header {
					w.Header()[key] = values
				}
				w.WriteHeader(a.status)
				_, _ = w.Write(a.body.Bytes()) // who cannot be written to has left
			default:
				next.ServeHTTP(w, r)
			}
		})
	})(o)
}
