package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onAdmit decorates who is let in by a token.
func onAdmit(decorate func(next server.Admitter) server.Admitter) apply {
	return func(o *server.Options) {
		guard := *o.HTTP.Guard
		guard.Admit = decorate
		o.HTTP.Guard = &guard
	}
}

// onGuardRefusal changes why requests are refused for some reasons.
func onGuardRefusal(edit func(f *server.Refusal), reasons ...string) apply {
	return onAdmit(func(next server.Admitter) server.Admitter {
		return func(r *http.Request) (server.Grant, *server.Refusal) {
			grant, refusal := next(r)
			if refusal != nil && slices.Contains(reasons, refusal.Reason) {
				edit(refusal)
			}
			return grant, refusal
		}
	})
}

// inspite lets in requests that are refused for a reason, where mayEnter tells so.
func inspite(reason string, mayEnter func(r *http.Request, f *server.Refusal) bool) apply {
	return onAdmit(func(next server.Admitter) server.Admitter {
		return func(r *http.Request) (server.Grant, *server.Refusal) {
			grant, refusal := next(r)
			if refusal == nil || refusal.Reason != reason || !mayEnter(r, refusal) {
				return grant, refusal
			}
			if refusal.Grant.Subject != "" {
				return refusal.Grant, nil
			}
			return server.Grant{Subject: anybody, Scopes: []string{server.ScopeAll}}, nil
		}
	})
}

// anybody is the user that a fault takes somebody for: the one whose session is
// open.
const anybody = "ada"

func always(*http.Request, *server.Refusal) bool { return true }

// onBind lets what belongs to one user be used by others.
func onBind(what string) apply {
	return func(o *server.Options) {
		guard := *o.HTTP.Guard
		guard.Bind = func(next server.Binder) server.Binder {
			return func(kind, owner, caller string) bool { return kind == what || next(kind, owner, caller) }
		}
		o.HTTP.Guard = &guard
	}
}

// atDoor decorates the server as HTTP sees it.
func atDoor(decorate func(next http.Handler) http.Handler) apply {
	return func(o *server.Options) { o.HTTP.Middleware = decorate }
}

// A headWriter changes the head of an answer right before it is written.
type headWriter struct {
	http.ResponseWriter
	edit  func(status int, h http.Header) int
	wrote bool
}

func (w *headWriter) WriteHeader(status int) {
	if !w.wrote {
		w.wrote = true
		status = w.edit(status, w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *headWriter) Write(b []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

func (w *headWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

const challengeField = "WWW-Authenticate"

// onChallenge changes the heads of answers that carry a challenge.
func onChallenge(edit func(r *http.Request, status int, h http.Header) int) apply {
	return atDoor(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&headWriter{ResponseWriter: w, edit: func(status int, h http.Header) int {
				if h.Get(challengeField) == "" {
					return status
				}
				return edit(r, status, h)
			}}, r)
		})
	})
}

// onChallengeText changes the text of the challenges of a status.
func onChallengeText(of int, edit func(text string) string) apply {
	return onChallenge(func(_ *http.Request, status int, h http.Header) int {
		if status == of {
			h.Set(challengeField, edit(h.Get(challengeField)))
		}
		return status
	})
}

// withoutParam takes a parameter out of a challenge.
func withoutParam(name string) func(text string) string {
	return func(text string) string {
		scheme, rest, _ := strings.Cut(text, " ")
		parts := slices.DeleteFunc(strings.Split(rest, ", "), func(p string) bool { return strings.HasPrefix(p, name+"=") })
		return scheme + " " + strings.Join(parts, ", ")
	}
}

// A kept answer was held back, to be changed as a whole.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header { return k.header }
func (k *kept) WriteHeader(s int)   { k.status = s }
func (k *kept) Write(b []byte) (int, error) {
	return k.body.Write(b)
}

// heldBack serves a request and holds the answer back.
func heldBack(next http.Handler, r *http.Request) *kept {
	k := &kept{header: http.Header{}, status: http.StatusOK}
	next.ServeHTTP(k, r)
	return k
}

// send writes an answer, with another body if one is given.
func (k *kept) send(w http.ResponseWriter, body []byte) {
	if body == nil {
		body = k.body.Bytes()
	}
	for key, values := range k.header {
		w.Header()[key] = values
	}
	w.WriteHeader(k.status)
	_, _ = w.Write(body) // who cannot be written to has left
}

// atPath serves requests of a path, or of those behind it, in another way.
func atPath(path string, serve func(next http.Handler, w http.ResponseWriter, r *http.Request)) apply {
	return atDoor(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path || strings.HasPrefix(r.URL.Path, path+"/") {
				serve(next, w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
}

const (
	resourceMetadata = "/.well-known/oauth-protected-resource"
	serverMetadata   = "/.well-known/oauth-authorization-server"
)

// onDocument changes a document of JSON at a path.
func onDocument(path string, edit func(o server.Object)) apply {
	return atPath(path, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		k := heldBack(next, r)
		var o server.Object
		if err := json.Unmarshal(k.body.Bytes(), &o); err != nil {
			panic(fmt.Sprintf("fault: the server sent %q: %v", k.body.Bytes(), err))
		}
		edit(o)
		k.send(w, encode(o))
	})
}

// goneAt has nothing at some paths.
func goneAt(paths ...string) apply {
	return atDoor(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slices.Contains(paths, r.URL.Path) {
				http.NotFound(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
}

// onRefused changes the bodies of answers that refuse requests without a token.
// The message is the one that was refused.
func onRefused(body func(m wire.Message) []byte) apply {
	return atDoor(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/mcp" || r.Header.Get("Authorization") != "" {
				next.ServeHTTP(w, r)
				return
			}
			m := wire.Parse(bodyOf(r))
			if m.Kind != wire.Request {
				next.ServeHTTP(w, r)
				return
			}
			heldBack(next, r).send(w, body(m))
		})
	})
}

// bodyOf reads the body of a request, and leaves it there.
func bodyOf(r *http.Request) []byte {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		raw = nil // the client has left
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return raw
}
