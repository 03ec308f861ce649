package fault

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// httpAnswers are the faults of basic/transports#sending-messages-to-the-server.
func httpAnswers() []Fault {
	var out []Fault
	for _, part := range [][]Fault{answerTypes(), answerBodies(), silentAnswers(), refusals(), oddFields()} {
		out = append(out, part...)
	}
	return out
}

// accepting fits POSTs whose header Accept begins with a text. Clients name the
// two media types in any order, and may take more.
func accepting(beginning string) func(r *http.Request) bool {
	return both(by(http.MethodPost), func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Accept"), beginning) })
}

// succeeding changes whole answers of status 200.
func succeeding(fits func(r *http.Request) bool, edit func(a *whole)) apply {
	return onWhole(fits, func(a *whole) {
		if a.status == http.StatusOK {
			edit(a)
		}
	})
}

// Clients that take web pages too, and that would rather have a stream.
const (
	likesPages   = "text/html"
	likesStreams = "text/event-stream, application/json"
)

func answerTypes() []Fault {
	typed := func(name, does string, in string, edit func(a *whole)) Fault {
		return Fault{
			Name: name, Does: does, In: streamable, Over: transport.HTTP,
			Breaks:   []string{"streamable-http-request-content-type"},
			CaughtBy: []string{"streamable-http.answer.type"},
			Apply:    succeeding(accepting(in), edit),
		}
	}
	as := func(kind string) func(a *whole) {
		return func(a *whole) { a.set(http.StatusOK, kind, bytes.Clone(a.body.Bytes())) }
	}
	return []Fault{
		{
			Name: "answers-as-page", Does: "calls all that it answers a client that takes web pages text/html", Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.answer.type"},
			Apply:    onHead(accepting(likesPages), func(_ int, h http.Header) { h.Set("Content-Type", "text/html") }),
		},
		typed("answers-as-text", "calls its answer text/plain for a client that would rather have a stream", likesStreams, as("text/plain; charset=utf-8")),
		typed("answers-as-text-json", "calls its answer text/json for a client that would rather have a stream", likesStreams, as("text/json")),
		typed("answers-untyped", "does not say what its answer is to a client that would rather have a stream", likesStreams, as("")),
		typed("answers-as-stream-without-events", "calls its answer an event stream to a client that would rather have one, and sends JSON", likesStreams, as("text/event-stream")).
			also("streamable-http.event.data", "the message stands in a line that is no field of an event").
			also("streamable-http.stream.unbuffered", "the stream that it claims to be lacks the header"),
		typed("answers-202-to-requests", "accepts requests of a client that would rather have a stream with 202, and does not answer", likesStreams,
			func(a *whole) { a.set(http.StatusAccepted, "", nil) }),
		typed("answers-204-to-requests", "answers requests of a client that takes web pages with 204", likesPages,
			func(a *whole) { a.set(http.StatusNoContent, "", nil) }),
	}
}

func answerBodies() []Fault {
	bodied := func(name, does string, edit func(body []byte) []byte) Fault {
		return Fault{
			Name: name, Does: does + " to a client that takes web pages too", In: streamable, Over: transport.HTTP,
			Breaks:   []string{"streamable-http-json-single-object"},
			CaughtBy: []string{"streamable-http.answer.single"},
			Apply: succeeding(accepting(likesPages), func(a *whole) {
				a.set(http.StatusOK, "application/json", edit(bytes.Clone(a.body.Bytes())))
			}),
		}
	}
	return []Fault{
		bodied("answer-in-array", "puts its answer into an array", func(b []byte) []byte { return fmt.Appendf(nil, "[%s]", b) }),
		bodied("answer-written-twice", "writes its answer twice", func(b []byte) []byte { return append(append(b, '\n'), b...) }),
		bodied("answer-in-envelope", "puts its answer into an envelope of its own", func(b []byte) []byte { return fmt.Appendf(nil, `{"ok":true,"data":%s}`, b) }),
		bodied("answer-behind-guard", "writes a guard against scripts before its answer", func(b []byte) []byte { return append([]byte(")]}',\n"), b...) }),
		bodied("answer-empty", "sends an empty body", func([]byte) []byte { return nil }),
		bodied("answer-cut-short", "cuts its answer short", func(b []byte) []byte { return b[:len(b)-1] }),
		bodied("answer-with-notification", "sends a notification in place of its answer", func([]byte) []byte {
			return []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}),
		bodied("answer-with-other-id", "gives its answer another id", func([]byte) []byte { return []byte(`{"jsonrpc":"2.0","id":"other","result":{}}`) }),
	}
}

// silentAnswers are those of notifications and responses, which are taken with
// 202 and no body.
func silentAnswers() []Fault {
	response := func(r *http.Request) bool {
		m, ok := posted(r)
		return ok && m.IsResponse()
	}
	notification := posts(wire.Notification, "")
	silent := func(name, does string, in spec.Set, rows, checks []string, fits func(r *http.Request) bool, edit func(a *whole)) Fault {
		return Fault{
			Name: name, Does: does, In: in, Over: transport.HTTP, Breaks: rows, CaughtBy: checks,
			Apply: onWhole(fits, func(a *whole) {
				if a.status == http.StatusAccepted {
					edit(a)
				}
			}),
		}
	}
	row, check := []string{"streamable-http-accepted-202"}, []string{"streamable-http.notification.accepted"}
	rows, checks := []string{"streamable-http-accepted-202", "streamable-http-response-202"}, []string{"streamable-http.response.accepted"}
	to := func(status int, body string) func(a *whole) {
		return func(a *whole) {
			kind := ""
			if body != "" {
				kind = "text/plain"
			}
			a.set(status, kind, []byte(body))
		}
	}
	return []Fault{
		silent("notification-answered-with-200", "answers notifications with 200", streamable, row, check, notification, to(http.StatusOK, "")),
		silent("notification-answered-with-204", "answers notifications with 204", streamable, row, check, notification, to(http.StatusNoContent, "")),
		silent("notification-answered-in-words", "answers notifications with 202 and a word", streamable, row, check, notification, to(http.StatusAccepted, "Accepted")),
		silent("response-answered-with-200", "answers responses with 200", sessions, rows, checks, response, to(http.StatusOK, "")),
		silent("response-answered-with-204", "answers responses with 204", sessions, rows, checks, response, to(http.StatusNoContent, "")),
		silent("response-answered-in-words", "answers responses with 202 and a word", sessions, rows, checks, response, to(http.StatusAccepted, "Accepted")),
	}
}

func refusals() []Fault {
	return []Fault{
		{
			Name: "late-notification-refused-with-200", Does: "refuses notifications into a session that has ended with an error under status 200", In: sessions, Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.refusal.status"},
			Apply:    onStatus(posts(wire.Notification, ""), http.StatusNotFound, http.StatusOK),
		},
		{
			Name: "late-notification-refused-with-202", Does: "refuses notifications into a session that has ended with an error under status 202", In: sessions, Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.refusal.status"},
			Apply:    onStatus(posts(wire.Notification, ""), http.StatusNotFound, http.StatusAccepted),
		},
		{
			Name: "batch-processed", Does: "processes arrays of requests, and answers each on an event stream", Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.batch.refused"},
			Also:     map[string]string{"streamable-http.event.priming": "the streams of its arrays begin with an answer"},
			Apply:    whenHTTP(posts(wire.Batch, ""), takeApart),
		},
		{
			Name: "batch-swallowed", Does: "accepts arrays of requests with 202, and answers none", Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.batch.refused"},
			Apply: whenHTTP(posts(wire.Batch, ""), func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusAccepted)
			}),
		},
	}
}

// takeApart serves the elements of an array one by one.
func takeApart(next http.Handler, w http.ResponseWriter, r *http.Request) {
	batch, _ := posted(r)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, m := range batch.Elements() {
		one := r.Clone(r.Context())
		one.Body = io.NopCloser(bytes.NewReader(m.Raw))
		fmt.Fprintf(w, "data: %s\n\n", bytes.TrimSpace(answerOf(next, one).body.Bytes()))
	}
}

// oddFields are faults that a request with an odd media type sets off.
func oddFields() []Fault {
	spoilt := func(name, does string, odd func(r *http.Request) bool) Fault {
		return Fault{
			Name: name, Does: does, In: sessions, Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.odd-fields.survived"},
			Apply:    spoils(odd),
		}
	}
	return []Fault{
		spoilt("odd-content-type-spoils-session", "answers with 500 in a session once a body came in it that is said to be no JSON", func(r *http.Request) bool {
			return r.Header.Get("Content-Type") == "text/plain"
		}),
		spoilt("odd-accept-spoils-session", "answers with 500 in a session once a client came to it that accepts no stream", func(r *http.Request) bool {
			return r.Header.Get("Accept") == "application/json"
		}),
	}
}

// spoils has a session answer POSTs with 500 once an odd request came in it.
func spoils(odd func(r *http.Request) bool) apply {
	return onHTTP(func(next http.Handler) http.Handler {
		var spoilt sync.Map
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := r.Header.Get("Mcp-Session-Id")
			if _, is := spoilt.Load(id); is && r.Method == http.MethodPost {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			if id != "" && r.Method == http.MethodPost && odd(r) {
				spoilt.Store(id, true)
			}
			next.ServeHTTP(w, r)
		})
	})
}
