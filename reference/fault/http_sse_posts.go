package fault

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// ssePosts are faults in which messages the server refuses.
func ssePosts() []Fault {
	hasType := func(isOdd func(value string) bool) httpMatcher {
		return allOf(atPath(ssePostPath), func(r *http.Request) bool { return isOdd(r.Header.Get("Content-Type")) })
	}
	begins := func(beginning string) httpMatcher {
		return hasType(func(value string) bool { return strings.HasPrefix(value, beginning) })
	}
	refused := func(name, does, caughtBy string, matches httpMatcher, status int) Fault {
		return newFault(name, does, "http-sse."+caughtBy, respond(matches, status, "", ""))
	}
	isPosted := func(method string) httpMatcher {
		return allOf(atPath(ssePostPath), posts(isMessage(wire.Notification, method)))
	}
	return []Fault{
		refused("sse-content-type-compared-whole", "refuses application/json with a charset", "content-type.forms",
			begins("application/json;"), http.StatusUnsupportedMediaType),
		refused("sse-content-type-compared-with-case", "refuses a media type in upper case", "content-type.case",
			begins("Application/"), http.StatusUnsupportedMediaType),
		newFault("sse-content-type-searched", "accepts any media type that contains application/json",
			"http-sse.content-type.compared", onHTTPRequest(begins("text/plain; x=application/json"),
				func(r *http.Request) { r.Header.Set("Content-Type", "application/json") })),
		refused("sse-cancellation-refused", "refuses every cancellation with status 400", "notification.cancelled",
			isPosted("notifications/cancelled"), http.StatusBadRequest),
		refused("sse-progress-refused", "refuses all progress with status 400", "notification.progress",
			isPosted("notifications/progress"), http.StatusBadRequest),
		newFault("sse-stream-ended-with-refusal",
			"refuses what is no valid message with status 400, and ends the stream of the connection",
			"http-sse.refused.survived", onHTTP(endStreamsAtRefusals)),
		refused("sse-unknown-session-accepted", "accepts a message for a connection that it does not have",
			"session.unknown", allOf(atPath(ssePostPath), posts(func(m wire.Message) bool {
				return m.ID().Equal(wire.StringID("mcpcheck-unknown"))
			})), http.StatusAccepted),
	}
}

// endStreamsAtRefusals takes a message that it refuses for an error of the connection.
func endStreamsAtRefusals(next http.Handler) http.Handler {
	var streams sync.Map // by endpoint
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == ssePath {
			ctx, end := context.WithCancel(r.Context())
			defer end()
			next.ServeHTTP(&endpointReader{ResponseWriter: w, named: func(endpoint string) {
				streams.Store(endpoint, end)
			}}, r.WithContext(ctx))
			return
		}
		m, ok := posted(r)
		if !ok || m.IsResponse() || m.Method() != "" && m.Get("jsonrpc").String() == "2.0" &&
			m.Get("method").Type == gjson.String && !strings.Contains(m.ID().Raw, ".") {
			next.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		if end, ok := streams.Load(r.URL.RequestURI()); ok {
			end.(context.CancelFunc)()
		}
	})
}

// An endpointReader reads the endpoint that a stream names.
type endpointReader struct {
	http.ResponseWriter
	named func(endpoint string)
}

func (w *endpointReader) Write(b []byte) (int, error) {
	if _, after, ok := strings.Cut(string(b), "event: endpoint\ndata: "); ok {
		endpoint, _, _ := strings.Cut(after, "\n")
		w.named(endpoint)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets the server flush the stream.
func (w *endpointReader) Unwrap() http.ResponseWriter { return w.ResponseWriter }
