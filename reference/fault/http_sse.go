package fault

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// httpSSE are the faults of basic/transports#http-with-sse of 2024-11-05.
func httpSSE() []Fault {
	return slices.Concat(sseOrigins(), sseStreams(), sseEndpoints(), sseMessages(), sseClients(), sseHosted())
}

// ofSSE is a fault of the transport.
func ofSSE(name, does, breaks, caughtBy string, apply apply) Fault {
	return Fault{
		Name: name, Does: does, In: spec.Only(spec.V2024_11_05), Over: transport.SSE,
		Breaks: []string{breaks}, CaughtBy: []string{caughtBy}, Apply: apply,
	}
}

// at fits requests of a path.
func at(path string) func(r *http.Request) bool {
	return func(r *http.Request) bool { return r.URL.Path == path }
}

// The endpoints of the transport.
const (
	sseStream = "/sse"
	ssePosts  = "/messages"
)

// sseOrigins let in requests of other sites, each by a careless comparison that
// one endpoint makes.
func sseOrigins() []Fault {
	const breaks, ofGet, ofPost = "http-sse-validate-origin", "http-sse.origin.stream", "http-sse.origin.post"
	local := func(r *http.Request) { // as the server's own page would ask
		_, port, _ := strings.Cut(r.Host, ":")
		r.Host = "localhost:" + port
		r.Header.Del("Origin")
	}
	let := func(path string, fits func(origin, host string) bool) apply {
		return onRequestOf(func(r *http.Request) bool {
			return r.URL.Path == path && has("Origin")(r) && fits(r.Header.Get("Origin"), r.Host)
		}, local)
	}
	any := func(string, string) bool { return true }
	begins := func(origin, _ string) bool { return strings.HasPrefix(origin, "http://localhost") }
	ends := func(origin, host string) bool {
		_, port, _ := strings.Cut(host, ":")
		return strings.HasSuffix(origin, "localhost:"+port)
	}
	port := func(origin, host string) bool {
		_, port, _ := strings.Cut(host, ":")
		return strings.HasSuffix(origin, ":"+port)
	}
	same := func(origin, host string) bool { return origin == "http://"+host }
	secure := func(origin, _ string) bool { return strings.HasPrefix(origin, "https://") }
	return []Fault{
		ofSSE("sse-origin-ignored-by-get", "opens a stream for any Origin", breaks, ofGet, let(sseStream, any)),
		ofSSE("sse-origin-compared-by-beginning", "opens a stream for an Origin that begins with its name", breaks, ofGet, let(sseStream, begins)),
		ofSSE("sse-origin-compared-by-end", "opens a stream for an Origin that ends with its name and port", breaks, ofGet, let(sseStream, ends)),
		ofSSE("sse-origin-compared-with-host", "opens a stream for an Origin that is the same as Host, whatever name that is", breaks, ofGet, let(sseStream, same)),
		ofSSE("sse-origin-of-https", "opens a stream for any Origin of https", breaks, ofGet, let(sseStream, secure)),
		ofSSE("sse-origin-ignored-by-post", "takes messages from any Origin", breaks, ofPost, let(ssePosts, any)),
		ofSSE("sse-origin-of-post-compared-by-beginning", "takes messages from an Origin that begins with its name", breaks, ofPost, let(ssePosts, begins)),
		ofSSE("sse-origin-of-post-compared-by-port", "takes messages from an Origin that has its port", breaks, ofPost, let(ssePosts, port)),
		ofSSE("sse-origin-of-post-compared-with-host", "takes messages from an Origin that is the same as Host, whatever name that is", breaks, ofPost, let(ssePosts, same)),
		ofSSE("sse-origin-refused-late", "refuses a message from another Origin with 403 and processes it all the same", breaks, ofPost,
			whenHTTP(both(at(ssePosts), has("Origin")), func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				local(r)
				next.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusForbidden)
			})),
	}
}

func sseStreams() []Fault {
	typed := func(values ...string) apply {
		return onHead(at(sseStream), func(_ int, h http.Header) { h["Content-Type"] = values })
	}
	const row, by = "http-sse-content-type", "http-sse.stream.type"
	return []Fault{
		ofSSE("sse-listens-on-another-address", "listens on another address than 127.0.0.1 too", "http-sse-bind-localhost", "http-sse.bind.loopback",
			func(o *server.Options) {
				if other, ok := server.Beside(); ok {
					o.HTTP.Also = append(o.HTTP.Also, other.String())
				}
			}),
		ofSSE("sse-stream-created", "opens its stream with status 201", "http-sse-sse-endpoint", "http-sse.stream.opened", onStatus(at(sseStream), http.StatusOK, http.StatusCreated)),
		ofSSE("sse-stream-untyped", "names no media type for its stream", row, by, typed()),
		ofSSE("sse-stream-plain", "declares its stream as plain text", row, by, typed("text/plain; charset=utf-8")),
	}
}

// onEventBytes changes the bytes of events and comments.
func onEventBytes(edit func(e server.Event, honest []byte) []byte) apply {
	return onEvent(func(next server.Eventer) server.Eventer {
		return func(e server.Event) []byte { return edit(e, next(e)) }
	})
}

func sseEndpoints() []Fault {
	named := func(edit func(e server.Event) []byte) apply {
		return onEventBytes(func(e server.Event, honest []byte) []byte {
			if e.Name != "endpoint" {
				return honest
			}
			return edit(e)
		})
	}
	with := func(more string) apply {
		return named(func(e server.Event) []byte { return fmt.Appendf(nil, "event: endpoint\ndata: %s%s\n\n", e.Data, more) })
	}
	const row, by = "http-sse-endpoint-uri", "http-sse.endpoint.uri"
	return []Fault{
		ofSSE("sse-log-before-endpoint", "sends a log message before the endpoint event", "http-sse-endpoint-event", "http-sse.endpoint.first",
			named(func(e server.Event) []byte {
				return fmt.Appendf(nil, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"error\",\"data\":\"the desk opens\"}}\n\nevent: endpoint\ndata: %s\n\n", e.Data)
			})),
		ofSSE("sse-endpoint-template", "names a URI template", row, by, with("&desk={desk}")),
		ofSSE("sse-endpoint-unescaped", "names a URI with letters that a URI cannot hold", row, by, with("&desk=žofín")),
		ofSSE("sse-endpoint-lines", "breaks the URI into two lines", row, by, with("\ndata: &desk=2")),
	}
}

func sseMessages() []Fault {
	logged := func(edit func(e server.Event) []byte) apply {
		return onEventBytes(func(e server.Event, honest []byte) []byte {
			if e.Frame == nil || e.Frame.Method != "notifications/message" {
				return honest
			}
			return edit(e)
		})
	}
	const row, by = "http-sse-message-events", "http-sse.message.event"
	return []Fault{
		ofSSE("sse-log-events", "sends log messages as events of type log", row, by,
			logged(func(e server.Event) []byte { return fmt.Appendf(nil, "event: log\ndata: %s\n\n", e.Data) })),
		ofSSE("sse-log-lines", "writes log messages into the stream without a field", row, by,
			logged(func(e server.Event) []byte { return fmt.Appendf(nil, "%s\n\n", e.Data) })),
		ofSSE("sse-answers-twice", "answers a ping in the POST, and on the stream as well", row, by,
			onWhole(both(at(ssePosts), posts(wire.Request, "ping")), func(a *whole) {
				a.set(http.StatusOK, "application/json", []byte(`{"jsonrpc":"2.0","id":"desk","result":{}}`))
			})),
		ofSSE("sse-notifications-refused", "takes notifications, and answers the POST of one with 400", "http-sse-post-endpoint", "http-sse.post.taken",
			onStatus(both(at(ssePosts), posts(wire.Notification, "")), http.StatusAccepted, http.StatusBadRequest)),
		ofSSE("sse-posts-redirected", "takes notifications, and answers the POST of one with a redirect", "http-sse-endpoint-uri", "http-sse.post.taken",
			onStatus(both(at(ssePosts), posts(wire.Notification, "")), http.StatusAccepted, http.StatusSeeOther)),
	}
}

// A register knows the connections that stand, oldest first, by the ids that
// their endpoint events name.
type register struct {
	mu  sync.Mutex
	ids []string
}

// keeping has the register kept, and the requests that post and fit sent to
// the one that choose names of those that stand; "" leaves it.
func (r *register) keeping(fits func(q *http.Request) bool, choose func(named string, standing []string) string) apply {
	return all(
		whenHTTP(at(sseStream), func(next http.Handler, w http.ResponseWriter, q *http.Request) {
			entry := &registering{ResponseWriter: w, r: r}
			defer r.leave(entry)
			next.ServeHTTP(entry, q)
		}),
		onRequestOf(both(at(ssePosts), fits), func(q *http.Request) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if id := choose(q.URL.Query().Get("session"), r.ids); id != "" {
				q.URL.RawQuery = url.Values{"session": {id}}.Encode()
			}
		}),
	)
}

func (r *register) leave(entry *registering) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids = slices.DeleteFunc(r.ids, func(id string) bool { return id == entry.id })
}

// registering finds the id in what a stream begins with.
type registering struct {
	http.ResponseWriter
	r  *register
	id string
}

func (w *registering) Write(b []byte) (int, error) {
	if _, id, ok := strings.Cut(string(b), "session="); ok && w.id == "" {
		w.id = strings.TrimSpace(id)
		w.r.mu.Lock()
		w.r.ids = append(w.r.ids, w.id)
		w.r.mu.Unlock()
	}
	return w.ResponseWriter.Write(b)
}

func (w *registering) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func sseClients() []Fault {
	const row = "http-sse-multiple-clients"
	newest := func(_ string, standing []string) string {
		if len(standing) == 0 {
			return ""
		}
		return standing[len(standing)-1]
	}
	lost := func(named string, standing []string) string {
		if slices.Contains(standing, named) {
			return ""
		}
		return newest(named, standing)
	}
	// The session that checks share has numbers for ids, and is not to be spoilt.
	named := says(func(m wire.Message) bool { return strings.HasPrefix(m.ID().Raw, `"`) })
	toNewest := ofSSE("sse-one-client", "takes every request whose id is a string for one of the newest connection", row, "http-sse.clients.apart", nil)
	toNewest.Also = map[string]string{"http-sse.clients.ended": "what is posted for one that has ended is taken for the newest as well"}
	toNewest.Apply = func(o *server.Options) { (&register{}).keeping(named, newest)(o) }
	toOther := ofSSE("sse-ended-session-taken-over", "takes a message for a connection that has ended for one of the newest", row, "http-sse.clients.ended", nil)
	toOther.Apply = func(o *server.Options) { (&register{}).keeping(func(*http.Request) bool { return true }, lost)(o) }
	return []Fault{toNewest, toOther}
}

// sseHosted keep the stream for older clients beside the MCP endpoint, and not
// what belongs to it.
func sseHosted() []Fault {
	hosted := func(name, does string, status int) Fault {
		return Fault{
			Name: name, Does: does, In: spec.Since(spec.V2025_03_26), Over: transport.HTTP,
			Breaks:   []string{"http-sse-backcompat-server-hosts-both"},
			CaughtBy: []string{"http-sse.hosted.beside"},
			Apply: whenHTTP(at(ssePosts), func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
			}),
		}
	}
	return []Fault{
		hosted("sse-hosted-without-post", "still opens streams for older clients, and has no POST endpoint for them", http.StatusNotFound),
		hosted("sse-hosted-mute", "still takes messages of older clients, and answers none", http.StatusAccepted),
	}
}
