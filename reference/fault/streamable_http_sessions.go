package fault

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onSessionID makes the ids of sessions; own makes the id of the server.
func onSessionID(mint func(own func() string) func() string) apply {
	return func(o *server.Options) { o.HTTP.NewSessionID = mint }
}

// countSessions makes ids of sessions of a counter.
func countSessions(makeID func(n int64) string) apply {
	return onSessionID(func(func() string) func() string {
		var n atomic.Int64
		return func() string { return makeID(n.Add(1)) }
	})
}

// sessionIDs are the faults of the ids of basic/transports#session-management.
func sessionIDs() []Fault {
	weak := func(name, does string, apply apply) Fault {
		return newFault(name, does, "streamable-http.session.id.secure", apply)
	}
	invalid := func(name, does, part string) Fault {
		return newFault(name, does, "streamable-http.session.id.characters",
			onSessionID(func(own func() string) func() string {
				return func() string { id := own(); return id[:4] + part + id[4:] }
			}))
	}
	return []Fault{
		weak("session-ids-counted", "counts its sessions", countSessions(func(n int64) string {
			return fmt.Sprint(n)
		})),
		weak("session-ids-counted-in-uuids", "counts its sessions in ids that look like UUIDs",
			countSessions(func(n int64) string { return fmt.Sprintf("6f1cbb1e-0d4e-4c1b-9f3a-%012x", n) })),
		weak("session-ids-of-the-clock", "makes session ids of the time", countSessions(func(n int64) string {
			return fmt.Sprintf("session-%d", time.Now().UnixMicro()+n) // n, so that no two are the same
		})),
		weak("session-ids-short", "makes session ids of seven random letters",
			onSessionID(func(func() string) func() string {
				return func() string { return rand.Text()[:7] }
			})),
		weak("session-ids-reused", "gives a new session the id of an ended one", reuseSessionIDs()),
		invalid("session-id-with-space", "makes session ids with a space", " "),
		invalid("session-id-with-tab", "makes session ids with a tab", "\t"),
		invalid("session-id-with-umlaut", "makes session ids with a letter that is not ASCII", "ü"),
	}
}

// reuseSessionIDs gives new sessions the ids of those that a client ended.
func reuseSessionIDs() apply {
	var mu sync.Mutex
	var free []string
	return combine(
		onSessionID(func(own func() string) func() string {
			return func() string {
				mu.Lock()
				defer mu.Unlock()
				if len(free) == 0 {
					return own()
				}
				id := free[0]
				free = free[1:]
				return id
			}
		}),
		whenHTTP(isDelete, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			a := answerOf(next, r)
			if a.status == http.StatusNoContent {
				mu.Lock()
				free = append(free, r.Header.Get(sessionField))
				mu.Unlock()
			}
			a.send(w)
		}),
	)
}

// hasNoSession matches POSTs without a session id, unless they open a session.
func hasNoSession(r *http.Request) bool {
	m, ok := posted(r)
	return ok && r.Header.Get(sessionField) == "" && m.Method() != "initialize"
}

// sessionsMissing are faults in the answers to messages without a session id.
func sessionsMissing() []Fault {
	refused := func(status int) Fault {
		return Fault{
			Name:     fmt.Sprintf("missing-session-refused-with-%d", status),
			Does:     fmt.Sprintf("refuses requests without a session id with status %d", status),
			CaughtBy: []string{"streamable-http.session.required"},
			Apply:    replaceStatus(hasNoSession, http.StatusBadRequest, status),
		}
	}
	return []Fault{
		refused(http.StatusNotFound),
		refused(http.StatusForbidden),
		refused(http.StatusInternalServerError),
		refused(http.StatusOK),
		{
			Name: "missing-session-of-notification-ignored", Does: "accepts notifications without a session id",
			CaughtBy: []string{"streamable-http.session.required.notification"},
			Apply: respond(allOf(hasNoSession, posts(isMessage(wire.Notification, ""))), http.StatusAccepted, "",
				""),
		},
		newFault("missing-session-of-get-ignored", "opens an event stream without a session id",
			"streamable-http.session.required.get", respond(allOf(isGet, lacksSession, hasNoOrigin), http.StatusOK,
				"text/event-stream", "")),
		newFault("missing-session-of-delete-ignored", "answers a DELETE without a session id with status 204",
			"streamable-http.session.required.delete", respond(allOf(isDelete, lacksSession, hasNoOrigin),
				http.StatusNoContent, "", "")),
	}
}

// hasKnownVersion matches requests that name a published version, or none.
func hasKnownVersion(r *http.Request) bool {
	v := r.Header.Get(versionField)
	return v == "" || isPublished(v)
}

// lacksSession matches requests without a session id.
func lacksSession(r *http.Request) bool { return r.Header.Get(sessionField) == "" }

// hasNoOrigin matches requests without an Origin.
func hasNoOrigin(r *http.Request) bool { return r.Header.Get("Origin") == "" }

// sessionsEnded are faults in the answers in an ended session.
func sessionsEnded() []Fault {
	fault := func(name, does, part string, apply apply) Fault {
		return newFault(name, does, "streamable-http.session.ended"+part, apply)
	}
	isRequest := posts(isMessage(wire.Request, ""))
	refused := func(status int, how string) Fault {
		return fault(fmt.Sprintf("ended-session-refused-with-%d", status),
			"refuses requests in an ended session with "+how, ".status",
			replaceStatus(isRequest, http.StatusNotFound, status))
	}
	return []Fault{
		refused(http.StatusBadRequest, "status 400"),
		refused(http.StatusForbidden, "status 403"),
		refused(http.StatusGone, "status 410"),
		refused(http.StatusOK, "an error under status 200"),
		fault("ended-session-lives", "acknowledges the end of a session and continues it", "",
			respond(allOf(isDelete, hasNoOrigin, hasField(sessionField), hasKnownVersion), http.StatusNoContent, "",
				"")),
		fault("ended-session-listened-to", "opens an event stream in an ended session", ".get",
			whenHTTP(isGet, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(&streamForNotFound{ResponseWriter: w}, r)
			})),
		fault("ended-session-listened-to-with-400", "refuses a GET in an ended session with status 400", ".get",
			replaceStatus(isGet, http.StatusNotFound, http.StatusBadRequest)),
		fault("ended-session-deleted-again", "acknowledges the end of a session that has ended", ".delete",
			replaceStatus(isDelete, http.StatusNotFound, http.StatusNoContent)),
		fault("ended-session-unanswered", "does not answer requests in an ended session", ".answered",
			withholdStatus(isRequest, http.StatusNotFound)),
	}
}

// withholdStatus does not answer the requests that match where the server answers with
// a status.
func withholdStatus(matches httpMatcher, status int) apply {
	return whenHTTP(matches, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&headWriter{ResponseWriter: w, edit: func(actual int, _ http.Header) int {
			if actual == status {
				<-r.Context().Done()
			}
			return actual
		}}, r)
	})
}

// A serving serves a request in place of the server; next is the server.
type serving = func(next http.Handler, w http.ResponseWriter, r *http.Request)

// onUnknownSession serves requests whose session id the server has not given.
func onUnknownSession(matches httpMatcher, serve serving) apply {
	return onHTTP(func(next http.Handler) http.Handler {
		var given sync.Map
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if id := r.Header.Get(sessionField); id != "" {
				if _, ok := given.Load(id); !ok && matches(r) {
					serve(next, w, r)
					return
				}
			}
			next.ServeHTTP(&headWriter{ResponseWriter: w, edit: func(status int, h http.Header) int {
				if id := h.Get(sessionField); id != "" {
					given.Store(id, true)
				}
				return status
			}}, r)
		})
	})
}

// sessionsUnknown are faults in the answers to requests with a session id that the
// server has not given.
func sessionsUnknown() []Fault {
	isPing := posts(isMessage(wire.Request, "ping"))
	unknown := func(name, does, part string, matches httpMatcher, serve serving) Fault {
		return newFault(name, does, "streamable-http.session.unknown"+part, onUnknownSession(matches, serve))
	}
	return []Fault{
		unknown("unknown-session-served", "serves requests with any session id", "", isPing,
			func(_ http.Handler, w http.ResponseWriter, r *http.Request) {
				m, _ := posted(r)
				w.Header().Set("Content-Type", "application/json")
				writeTo(w, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID().Raw))
			}),
		unknown("unknown-session-unanswered", "does not answer requests with an unknown session id", ".answered",
			isPing, func(_ http.Handler, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		unknown("unknown-session-refused-with-400", "refuses requests with an unknown session id with status 400",
			".status", isPing,
			func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }),
		unknown("unknown-session-listened-to", "opens an event stream for any session id", ".get", isGet,
			func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(&streamForNotFound{ResponseWriter: w}, r)
			}),
		{
			Name:     "session-id-refused-without-sessions",
			Does:     "refuses requests with a session id with status 404, and has no sessions",
			CaughtBy: []string{"streamable-http.session.ignored"},
			Also: map[string]string{
				"streamable-http.event.priming": "without sessions it keeps no events to resume from",
			},
			Apply: combine(withoutSessions, respondNotFound(hasField(sessionField))),
		},
	}
}

// withoutSessions serves the handshake revisions without sessions.
func withoutSessions(o *server.Options) { o.HTTP.Sessionless = true }

// streamForNotFound writes an empty event stream in place of status 404.
type streamForNotFound struct {
	http.ResponseWriter
	replaced bool
}

func (w *streamForNotFound) WriteHeader(status int) {
	if w.replaced = status == http.StatusNotFound; w.replaced {
		w.Header().Set("Content-Type", "text/event-stream")
		status = http.StatusOK
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *streamForNotFound) Write(b []byte) (int, error) {
	if w.replaced {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

func (w *streamForNotFound) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// sessionsMixed are faults in which one session changes another. They show in
// sessions of clients that declare nothing.
func sessionsMixed() []Fault {
	isolated := []string{"streamable-http.session.isolated"}
	return []Fault{
		{
			Name:     "session-ends-with-another",
			Does:     "ends all sessions of clients without capabilities with one of them",
			CaughtBy: isolated,
			Apply:    endOtherSessions(false),
		},
		{
			Name:     "session-ends-when-another-opens",
			Does:     "ends the session of a client without capabilities when another opens one",
			Breaks:   []string{"streamable-http-session-isolation", "streamable-http-multiple-clients"},
			CaughtBy: isolated,
			Also:     map[string]string{"streamable-http.clients": "two clients at once are not both served"},
			Apply:    endOtherSessions(true),
		},
		{
			Name:     "progress-in-all-sessions",
			Does:     "reports the progress of a call in all sessions of clients without capabilities",
			CaughtBy: isolated,
			Apply:    reportToAllSessions,
		},
	}
}

// isBareInitialize reports whether a client without capabilities opens a session.
func isBareInitialize(m wire.Message) bool {
	return m.Method() == "initialize" && m.Params().Get("capabilities").Raw == "{}"
}

// endOtherSessions ends the other sessions of clients without capabilities when one
// of them opens, or ends.
func endOtherSessions(onOpen bool) apply {
	return onHTTP(func(next http.Handler) http.Handler {
		var mu sync.Mutex
		open := map[string]bool{}
		endAll := func(r *http.Request) {
			for id := range open {
				one := r.Clone(r.Context())
				one.Method, one.Body = http.MethodDelete, io.NopCloser(strings.NewReader(""))
				one.Header.Set(sessionField, id)
				one.Header.Del(versionField)
				answerOf(next, one)
			}
			clear(open)
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m, _ := posted(r)
			opens := isBareInitialize(m)
			if !opens && !isDelete(r) || !hasNoOrigin(r) || !hasKnownVersion(r) {
				next.ServeHTTP(w, r)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ends := open[r.Header.Get(sessionField)]
			if opens && onOpen || ends && !onOpen {
				endAll(r)
			}
			a := answerOf(next, r)
			if ends && !onOpen {
				a.status = http.StatusNoContent
				a.body.Reset()
			}
			delete(open, r.Header.Get(sessionField))
			if id := a.header.Get(sessionField); id != "" {
				open[id] = true
			}
			a.send(w)
		})
	})
}
