package fault

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// The faults of basic/transports#sending-messages-to-the-server show in the answers
// to clients whose header Accept begins so. Clients name the two media types in any
// order, and may accept more.
const (
	prefersPages   = "text/html"
	prefersStreams = "text/event-stream, application/json"
)

// accepts matches POSTs whose header Accept begins with a text.
func accepts(beginning string) httpMatcher {
	return func(r *http.Request) bool { return isPost(r) && strings.HasPrefix(r.Header.Get("Accept"), beginning) }
}

// onSuccess changes whole answers of a status.
func onSuccess(matches httpMatcher, status int, edit func(a *httpAnswer)) apply {
	return onHTTPAnswer(matches, func(a *httpAnswer) {
		if a.status == status {
			edit(a)
		}
	})
}

// withAnswer gives an answer another status and body.
func withAnswer(status int, mediaType, body string) func(a *httpAnswer) {
	return func(a *httpAnswer) { a.set(status, mediaType, []byte(body)) }
}

// withMediaType gives an answer another media type; "" for none.
func withMediaType(mediaType string) func(a *httpAnswer) {
	return func(a *httpAnswer) { a.set(http.StatusOK, mediaType, a.body.Bytes()) }
}

// answerTypes are faults in the media type and status of answers to requests.
func answerTypes() []Fault {
	fault := func(name, does, accept string, edit func(a *httpAnswer)) Fault {
		return newFault(name, does, "streamable-http.answer.type", onSuccess(accepts(accept), http.StatusOK, edit))
	}
	asStream := fault("answers-as-stream-without-events",
		"sends JSON as text/event-stream to clients that prefer streams",
		prefersStreams, withMediaType("text/event-stream"))
	asStream.Also = map[string]string{
		"streamable-http.event.data":        "the message is in a line that is no field of an event",
		"streamable-http.stream.unbuffered": "such a stream lacks the header",
	}
	return []Fault{
		{
			Name: "answers-as-page", Does: "sends all answers as text/html to clients that accept pages",
			CaughtBy: []string{"streamable-http.answer.type"},
			Apply:    onHeader(accepts(prefersPages), func(h http.Header) { h.Set("Content-Type", "text/html") }),
		},
		{
			Name: "task-state-streamed", Does: "answers tasks/get with an event stream, and other requests with JSON",
			CaughtBy: []string{"streamable-http.tasks.get.plain"},
			Apply:    streamTasksGet,
		},
		fault("answers-as-text", "sends JSON as text/plain to clients that prefer streams", prefersStreams,
			withMediaType("text/plain; charset=utf-8")),
		fault("answers-as-text-json", "sends JSON as text/json to clients that prefer streams", prefersStreams,
			withMediaType("text/json")),
		fault("answers-untyped", "sends JSON without a media type to clients that prefer streams", prefersStreams,
			withMediaType("")),
		asStream,
		fault("answers-202-to-requests",
			"accepts requests of clients that prefer streams with status 202, and does not answer them",
			prefersStreams, withAnswer(http.StatusAccepted, "", "")),
		fault("answers-204-to-requests", "answers requests of clients that accept pages with status 204",
			prefersPages, withAnswer(http.StatusNoContent, "", "")),
	}
}

// streamTasksGet wraps answers to tasks/get into a stream that begins with a priming
// event.
func streamTasksGet(o *server.Options) {
	var n atomic.Int64
	onHTTPAnswer(posts(isMessage(wire.Request, "tasks/get")), func(a *httpAnswer) {
		if a.status != http.StatusOK {
			return
		}
		id, data := n.Add(1), bytes.TrimSpace(a.body.Bytes())
		a.set(http.StatusOK, "text/event-stream",
			fmt.Appendf(nil, "id: t%d-0\ndata: \n\nid: t%d-1\ndata: %s\n\n", id, id, data))
	})(o)
}

// answerBodies are faults in the bodies of answers to requests.
func answerBodies() []Fault {
	fault := func(name, does string, edit func(body []byte) []byte) Fault {
		return newFault(name, does, "streamable-http.answer.single",
			onSuccess(accepts(prefersPages), http.StatusOK, func(a *httpAnswer) {
				a.set(http.StatusOK, "application/json", edit(a.body.Bytes()))
			}))
	}
	format := func(format string) func(body []byte) []byte {
		return func(body []byte) []byte { return fmt.Appendf(nil, format, body) }
	}
	always := func(body string) func([]byte) []byte { return func([]byte) []byte { return []byte(body) } }
	return []Fault{
		fault("answer-in-array", "wraps its answer in an array", format("[%s]")),
		fault("answer-written-twice", "writes its answer twice", format("%[1]s\n%[1]s")),
		fault("answer-in-envelope", "wraps its answer in another object", format(`{"ok":true,"data":%s}`)),
		fault("answer-with-guard-prefix", "writes a prefix that guards against scripts before its answer",
			format(")]}',\n%s")),
		fault("answer-empty", "sends an empty body", always("")),
		fault("answer-cut-short", "cuts its answer short", func(b []byte) []byte { return b[:len(b)-1] }),
		fault("answer-with-notification", "sends a notification in place of its answer",
			always(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)),
		fault("answer-with-other-id", "answers under another id", always(`{"jsonrpc":"2.0","id":"other","result":{}}`)),
	}
}

// acceptedAnswers are faults in the answers to notifications and responses, which are
// accepted with status 202 and no body.
func acceptedAnswers() []Fault {
	isResponse := posts(wire.Message.IsResponse)
	isNotification := posts(isMessage(wire.Notification, ""))
	fault := func(name, does, caughtBy string, matches httpMatcher, status int, mediaType, body string) Fault {
		return newFault(name, does, caughtBy,
			onSuccess(matches, http.StatusAccepted, withAnswer(status, mediaType, body)))
	}
	const notification, response = "streamable-http.notification.accepted", "streamable-http.response.accepted"
	return []Fault{
		fault("notification-answered-with-200", "answers notifications with status 200", notification, isNotification,
			http.StatusOK, "", ""),
		fault("notification-answered-with-204", "answers notifications with status 204", notification, isNotification,
			http.StatusNoContent, "", ""),
		fault("notification-answered-with-text", "answers notifications with status 202 and a text", notification,
			isNotification,
			http.StatusAccepted, "text/plain", "Accepted"),
		fault("response-answered-with-200", "answers responses with status 200", response, isResponse, http.StatusOK,
			"", ""),
		fault("response-answered-with-204", "answers responses with status 204", response, isResponse,
			http.StatusNoContent,
			"", ""),
		fault("response-answered-with-text", "answers responses with status 202 and a text", response, isResponse,
			http.StatusAccepted, "text/plain", "Accepted"),
	}
}

// refusedMessages are faults in how messages are refused.
func refusedMessages() []Fault {
	late := func(name, does string, status int) Fault {
		return Fault{
			Name: name, Does: does, In: spec.Handshake, CaughtBy: []string{"streamable-http.refusal.status"},
			Apply: replaceStatus(posts(isMessage(wire.Notification, "")), http.StatusNotFound, status),
		}
	}
	odd := func(name, does string, matches httpMatcher) Fault {
		return Fault{
			Name: name, Does: does, In: spec.Handshake, CaughtBy: []string{"streamable-http.media-types.survived"},
			Apply: failSessionAfter(matches),
		}
	}
	return []Fault{
		late("late-notification-refused-with-200", "refuses notifications in an ended session with status 200",
			http.StatusOK),
		late("late-notification-refused-with-202", "refuses notifications in an ended session with status 202",
			http.StatusAccepted),
		{
			Name: "batch-unanswered", Does: "accepts arrays of requests with status 202, and answers none",
			CaughtBy: []string{"streamable-http.batch.answered"},
			Apply:    respond(posts(isMessage(wire.Batch, "")), http.StatusAccepted, "", ""),
		},
		odd("odd-content-type-breaks-session", "answers with status 500 in a session after a body of text/plain",
			func(r *http.Request) bool { return r.Header.Get("Content-Type") == "text/plain" }),
		odd("odd-accept-breaks-session", "answers with status 500 in a session after a request that accepts no stream",
			func(r *http.Request) bool { return r.Header.Get("Accept") == "application/json" }),
	}
}

// serveElements serves the elements of an array one by one.
func serveElements(next http.Handler, w http.ResponseWriter, r *http.Request) {
	batch, _ := posted(r)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, m := range batch.Elements() {
		one := r.Clone(r.Context())
		setBody(one, m.Raw)
		fmt.Fprintf(w, "data: %s\n\n", bytes.TrimSpace(answerOf(next, one).body.Bytes()))
	}
}

// failSessionAfter answers POSTs of a session with status 500 after a POST that
// matches.
func failSessionAfter(matches httpMatcher) apply {
	return onHTTP(func(next http.Handler) http.Handler {
		var failing sync.Map
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := r.Header.Get(sessionField)
			if _, fails := failing.Load(id); fails && isPost(r) {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			if id != "" && isPost(r) && matches(r) {
				failing.Store(id, true)
			}
			next.ServeHTTP(w, r)
		})
	})
}

// sharedIDs are faults in the answers to two requests of a session that have one id.
func sharedIDs() []Fault {
	return []Fault{
		newFault("same-id-unanswered", "sends no answer to a request whose id another request in progress has",
			"streamable-http.answer.same-id", onSharedID(func(w http.ResponseWriter, _ wire.ID) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(http.StatusOK)
			})),
		newFault("same-id-swapped", "answers a request as another that is in progress and has its id",
			"streamable-http.answer.same-id", onSharedID(func(w http.ResponseWriter, id wire.ID) {
				w.Header().Set("Content-Type", "application/json")
				writeTo(w, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id.Raw))
			})),
	}
}

// onSharedID serves a request whose id another request of its session in progress has.
func onSharedID(serve func(w http.ResponseWriter, id wire.ID)) apply {
	return func(o *server.Options) {
		var inProgress sync.Map
		whenHTTP(posts(isMessage(wire.Request, "")), func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			m, _ := posted(r)
			key := r.Header.Get("Mcp-Session-Id") + " " + m.ID().Key()
			if _, shared := inProgress.LoadOrStore(key, true); shared && r.Header.Get("Mcp-Session-Id") != "" {
				serve(w, m.ID())
				return
			}
			defer inProgress.Delete(key)
			next.ServeHTTP(w, r)
		})(o)
	}
}
