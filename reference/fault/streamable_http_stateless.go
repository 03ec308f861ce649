package fault

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// statelessHTTP are faults of the stateless revision in what earlier revisions had
// (basic/transports/streamable-http#earlier-streamable-http-revisions). Some speak
// only the stateless revision: a server of both eras may do the same for clients of
// the other.
func statelessHTTP() []Fault {
	postOnly, noSession := []string{"streamable-http.get-delete.status"}, []string{"streamable-http.session.none"}
	namesSession := allOf(isStateless, hasField(sessionField))
	return []Fault{
		{
			Name: "get-is-404", Does: "answers GET with status 404",
			CaughtBy: postOnly,
			Apply:    combine(statelessOnly, replaceStatus(isGet, http.StatusMethodNotAllowed, http.StatusNotFound)),
		},
		{
			Name: "get-listens", Does: "answers GET with a stream without messages",
			CaughtBy: postOnly,
			Apply:    combine(statelessOnly, whenHTTP(isGet, streamNothing)),
		},
		{
			Name: "delete-is-200", Does: "answers DELETE with status 200",
			CaughtBy: postOnly,
			Apply:    combine(statelessOnly, replaceStatus(isDelete, http.StatusMethodNotAllowed, http.StatusOK)),
		},
		{
			Name: "session-id-statelessly", Does: "answers stateless requests with a session id",
			CaughtBy: noSession,
			Apply:    onHeader(isStateless, func(h http.Header) { h.Set(sessionField, "reader-1") }),
		},
		{
			Name: "session-echoed", Does: "repeats the session id of a stateless request",
			CaughtBy: noSession,
			Apply: combine(statelessOnly, onHead(namesSession, func(r *http.Request, status int, h http.Header) int {
				h.Set(sessionField, r.Header.Get(sessionField))
				return status
			})),
		},
		{
			Name: "session-looked-up-statelessly", Does: "refuses a stateless request that names an unknown session",
			CaughtBy: noSession,
			Apply: combine(statelessOnly,
				respond(namesSession, http.StatusNotFound, "text/plain", "There is no such session\n")),
		},
		{
			Name: "last-event-id-refused", Does: "refuses a POST with Last-Event-ID",
			CaughtBy: []string{"streamable-http.event.id.ignored"},
			Apply: combine(statelessOnly, respond(allOf(isStateless, hasField(eventIDField)),
				http.StatusBadRequest, "text/plain", "Streams cannot be resumed\n")),
		},
		{
			Name: "streams-resumed-statelessly", Does: "replays the events after the one that a GET names",
			CaughtBy: []string{"streamable-http.stream.resumed"},
			Apply:    combine(statelessOnly, replayEvents),
		},
	}
}

// streamNothing answers with a stream without messages.
func streamNothing(_ http.Handler, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// replayEvents numbers all events, and repeats the later ones to a GET that names one.
func replayEvents(o *server.Options) {
	var mu sync.Mutex
	var sent [][]byte
	onEvent(func(next server.EventEncoder) server.EventEncoder {
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
	})(o)
	whenHTTP(allOf(isGet, hasField(eventIDField)), func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		last, err := strconv.Atoi(r.Header.Get(eventIDField))
		mu.Lock()
		defer mu.Unlock()
		if err != nil || last < 0 || last >= len(sent) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no")
		writeTo(w, bytes.Join(sent[last+1:], nil))
	})(o)
}

// statelessStreams are faults of the streams of stateless requests
// (basic/transports/streamable-http#receiving-messages).
func statelessStreams() []Fault {
	const buffering = "X-Accel-Buffering"
	return []Fault{
		{
			Name: "streams-buffered", Does: "leaves X-Accel-Buffering out of streams",
			CaughtBy: []string{"streamable-http.stream.unbuffered"},
			Apply:    onHeader(isPost, func(h http.Header) { h.Del(buffering) }),
		},
		{
			Name: "subscription-streams-buffered", Does: "allows proxies to buffer the stream of a subscription",
			CaughtBy: []string{"streamable-http.stream.unbuffered"},
			Apply: onHeader(posts(isMessage(wire.Request, listenMethod)), func(h http.Header) {
				h.Set(buffering, "yes")
			}),
		},
		{
			Name: "progress-on-subscriptions", Does: "reports progress on the streams of subscriptions as well",
			CaughtBy: []string{"streamable-http.listen.scope"},
			Apply:    copyToSubscriptions(progressMethod),
		},
		{
			Name: "logs-on-subscriptions", Does: "sends log messages on the streams of subscriptions as well",
			CaughtBy: []string{"streamable-http.listen.scope"},
			Apply:    copyToSubscriptions(logMethod),
		},
		{
			Name: "unknown-method-is-200", Does: "answers an unknown method with status 200",
			CaughtBy: []string{"streamable-http.method.unknown"},
			Apply:    onHTTPError(spec.MethodNotFound, anyPosted, withStatus(http.StatusOK)),
		},
		{
			Name: "unknown-method-is-400", Does: "answers an unknown method with status 400",
			CaughtBy: []string{"streamable-http.method.unknown"},
			Apply:    onHTTPError(spec.MethodNotFound, anyPosted, withStatus(http.StatusBadRequest)),
		},
	}
}

// copyToSubscriptions sends the notifications of a method on the streams of
// subscriptions as well.
func copyToSubscriptions(method string) apply {
	return func(o *server.Options) {
		var mu sync.Mutex
		var open []*server.Stream
		onRoute(anyFrame, func(next server.Router, f server.Frame, p server.OpenStreams) []*server.Stream {
			on := next(f, p)
			mu.Lock()
			defer mu.Unlock()
			if f.Method == acknowledgedMethod {
				open = append(open, on...)
			}
			if f.Method == method {
				on = append(on, open...)
			}
			return on
		})(o)
	}
}
