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

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

const sessionField = "Mcp-Session-Id"

// httpSessions are the faults of basic/transports#session-management.
func httpSessions() []Fault {
	var out []Fault
	for _, part := range [][]Fault{sessionIDs(), sessionsMissing(), sessionsEnded(), sessionsMixed()} {
		out = append(out, part...)
	}
	return out
}

// minting makes the ids of sessions; honest makes a good one.
func minting(mint func(honest func() string) func() string) apply {
	return func(o *server.Options) { o.HTTP.Mint = mint }
}

// counted makes ids of a count.
func counted(format string) apply {
	return minting(func(func() string) func() string {
		var n atomic.Int64
		return func() string { return fmt.Sprintf(format, n.Add(1)) }
	})
}

func sessionIDs() []Fault {
	weak := func(name, does string, apply apply) Fault {
		return Fault{
			Name: name, Does: does, In: sessions, Over: transport.HTTP,
			Breaks:   []string{"streamable-http-session-id-secure", "security-session-id-non-deterministic"},
			CaughtBy: []string{"streamable-http.session.id.secure"},
			Apply:    apply,
		}
	}
	ill := func(name, does, part string) Fault {
		return Fault{
			Name: name, Does: does, In: sessions, Over: transport.HTTP,
			Breaks:   []string{"streamable-http-session-id-visible-ascii"},
			CaughtBy: []string{"streamable-http.session.id.characters"},
			Apply: minting(func(honest func() string) func() string {
				return func() string { id := honest(); return id[:4] + part + id[4:] }
			}),
		}
	}
	return []Fault{
		weak("session-ids-counted", "counts its sessions", counted("%d")),
		weak("session-ids-counted-in-uuids", "counts its sessions, in ids that look like UUIDs", counted("6f1cbb1e-0d4e-4c1b-9f3a-%012x")),
		weak("session-ids-of-the-clock", "makes session ids of the time", minting(func(func() string) func() string {
			var n atomic.Int64 // in which no two are the same
			return func() string { return fmt.Sprintf("session-%d", time.Now().UnixMicro()+n.Add(1)) }
		})),
		weak("session-ids-short", "makes session ids of a few random letters", minting(func(func() string) func() string {
			return func() string { return rand.Text()[:7] }
		})),
		weak("session-ids-reused", "gives a new session the id of one that has ended", reused()),
		ill("session-id-with-space", "makes session ids with a space", " "),
		ill("session-id-with-tab", "makes session ids with a tab", "\t"),
		ill("session-id-with-umlaut", "makes session ids with a letter that is not ASCII", "ü"),
	}
}

// reused keeps the ids of sessions that a client has ended, for the next ones.
func reused() apply {
	var mu sync.Mutex
	var free []string
	return all(
		minting(func(honest func() string) func() string {
			return func() string {
				mu.Lock()
				defer mu.Unlock()
				if len(free) == 0 {
					return honest()
				}
				id := free[0]
				free = free[1:]
				return id
			}
		}),
		whenHTTP(by(http.MethodDelete), func(next http.Handler, w http.ResponseWriter, r *http.Request) {
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

// without a session id, a POST that does not open one.
func sessionless(r *http.Request) bool {
	m, ok := posted(r)
	return ok && r.Header.Get(sessionField) == "" && m.Method() != "initialize"
}

func sessionsMissing() []Fault {
	missing := func(status int) Fault {
		return Fault{
			Name: fmt.Sprintf("missing-session-refused-with-%d", status),
			Does: fmt.Sprintf("answers requests without a session id with %d", status),
			In:   sessions, Over: transport.HTTP,
			Breaks:   []string{"streamable-http-session-required-400"},
			CaughtBy: []string{"streamable-http.session.required"},
			Apply:    onStatus(sessionless, http.StatusBadRequest, status),
		}
	}
	return []Fault{
		missing(http.StatusNotFound), missing(http.StatusForbidden), missing(http.StatusInternalServerError), missing(http.StatusOK),
		{
			Name: "missing-session-of-notification-ignored", Does: "accepts notifications of no session, though it refuses requests of none", Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.session.required"},
			Apply: whenHTTP(both(sessionless, posts(wire.Notification, "")), func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusAccepted)
			}),
		},
	}
}

func sessionsEnded() []Fault {
	ended := func(name, does string, apply apply) Fault {
		return Fault{
			Name: name, Does: does, In: sessions, Over: transport.HTTP,
			Breaks:   []string{"streamable-http-session-terminated-404"},
			CaughtBy: []string{"streamable-http.session.ended"},
			Apply:    apply,
		}
	}
	request := posts(wire.Request, "")
	return []Fault{
		ended("ended-session-refused-with-400", "answers requests in a session that has ended with 400", onStatus(request, http.StatusNotFound, http.StatusBadRequest)),
		ended("ended-session-refused-with-403", "answers requests in a session that has ended with 403", onStatus(request, http.StatusNotFound, http.StatusForbidden)),
		ended("ended-session-refused-with-410", "answers requests in a session that has ended with 410", onStatus(request, http.StatusNotFound, http.StatusGone)),
		ended("ended-session-refused-with-200", "answers requests in a session that has ended with an error and 200", onStatus(request, http.StatusNotFound, http.StatusOK)),
		ended("ended-session-lives", "says that it ends a session, and does not", whenHTTP(both(by(http.MethodDelete), atHome), func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		})),
		ended("ended-session-listened-to", "opens an event stream in a session that has ended", whenHTTP(by(http.MethodGet), func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&stillOpen{ResponseWriter: w}, r)
		})),
		ended("ended-session-listened-to-with-400", "answers a GET in a session that has ended with 400", onStatus(by(http.MethodGet), http.StatusNotFound, http.StatusBadRequest)),
	}
}

// atHome fits requests of no other site.
func atHome(r *http.Request) bool { return r.Header.Get("Origin") == "" }

// stillOpen writes an empty event stream in place of status 404.
type stillOpen struct {
	http.ResponseWriter
	other bool
}

func (w *stillOpen) WriteHeader(status int) {
	if w.other = status == http.StatusNotFound; w.other {
		w.Header().Set("Content-Type", "text/event-stream")
		status = http.StatusOK
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *stillOpen) Write(b []byte) (int, error) {
	if w.other {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

func (w *stillOpen) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// sessionsMixed are faults of sessions that have to do with one another, here
// those of clients that declare nothing.
func sessionsMixed() []Fault {
	return []Fault{
		{
			Name: "session-ends-with-another", Does: "ends all sessions of clients without capabilities when one of them is ended", Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.session.isolated"},
			Apply:    endsOthers(false),
		},
		{
			Name: "session-ends-when-another-opens", Does: "keeps one session only of clients without capabilities", Over: transport.HTTP,
			Breaks:   []string{"streamable-http-session-isolation", "streamable-http-multiple-clients"},
			CaughtBy: []string{"streamable-http.session.isolated"},
			Also:     map[string]string{"streamable-http.clients": "two clients at once are no longer both served"},
			Apply:    endsOthers(true),
		},
		{
			Name: "progress-told-to-all-sessions", Does: "tells of the progress of a call to all that listen, of clients without capabilities", Over: transport.HTTP,
			CaughtBy: []string{"streamable-http.session.isolated"},
			Apply:    tellsAll(),
		},
	}
}

// endsOthers ends the other sessions of clients without capabilities when one of
// them opens, or ends.
func endsOthers(opening bool) apply {
	return onHTTP(func(next http.Handler) http.Handler {
		var mu sync.Mutex
		open := map[string]bool{}
		end := func(r *http.Request) {
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
			bare := m.Method() == "initialize" && m.Params().Get("capabilities").Raw == "{}"
			if !bare && r.Method != http.MethodDelete || !atHome(r) {
				next.ServeHTTP(w, r)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			of := open[r.Header.Get(sessionField)]
			if bare && opening || of && !opening {
				end(r)
			}
			a := answerOf(next, r)
			if of && !opening {
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

// tellsAll writes what streams of POSTs carry of progress to the streams of GETs
// of other sessions too; both of clients without capabilities.
func tellsAll() apply {
	return onHTTP(func(next http.Handler) http.Handler {
		var mu sync.Mutex
		bare, listening := map[string]bool{}, map[string]http.ResponseWriter{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m, _ := posted(r)
			id := r.Header.Get(sessionField)
			mu.Lock()
			known := bare[id]
			mu.Unlock()
			switch {
			case m.Method() == "initialize" && m.Params().Get("capabilities").Raw == "{}":
				a := answerOf(next, r)
				mu.Lock()
				bare[a.header.Get(sessionField)] = true
				mu.Unlock()
				a.send(w)
			case known && r.Method == http.MethodGet:
				shared := &shared{ResponseWriter: w, mu: &mu}
				mu.Lock()
				listening[id] = w
				mu.Unlock()
				next.ServeHTTP(shared, r)
				mu.Lock()
				delete(listening, id)
				mu.Unlock()
			case known && m.Kind == wire.Request:
				next.ServeHTTP(&shared{ResponseWriter: w, mu: &mu, tell: func(b []byte) {
					for of, to := range listening {
						if of != id && strings.Contains(string(b), "notifications/progress") {
							_, _ = to.Write(b)
							_ = http.NewResponseController(to).Flush()
						}
					}
				}}, r)
			default:
				next.ServeHTTP(w, r)
			}
		})
	})
}

// shared is a stream that others write to as well, one at a time; tell is given
// what is written.
type shared struct {
	http.ResponseWriter
	mu   *sync.Mutex
	tell func(b []byte)
}

func (w *shared) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tell != nil {
		w.tell(b)
	}
	return w.ResponseWriter.Write(b)
}

func (w *shared) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *shared) Unwrap() http.ResponseWriter { return w.ResponseWriter }
