package fault

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// Header fields of the protocol.
const (
	sessionField   = "Mcp-Session-Id"
	versionField   = "MCP-Protocol-Version"
	eventIDField   = "Last-Event-ID"
	challengeField = "WWW-Authenticate"
)

// onHTTP decorates the handler of HTTP requests, outside its decorators.
func onHTTP(decorate func(next http.Handler) http.Handler) apply {
	return func(o *server.Options) { o.HTTP.Middleware = outside(o.HTTP.Middleware, decorate) }
}

// An httpMatcher reports whether a deviation applies to a request of HTTP.
type httpMatcher = func(r *http.Request) bool

// anyHTTP matches all requests.
func anyHTTP(*http.Request) bool { return true }

func isGet(r *http.Request) bool    { return r.Method == http.MethodGet }
func isPost(r *http.Request) bool   { return r.Method == http.MethodPost }
func isDelete(r *http.Request) bool { return r.Method == http.MethodDelete }

// hasField matches requests with the header field.
func hasField(field string) httpMatcher {
	return func(r *http.Request) bool { return r.Header.Get(field) != "" }
}

// atPath matches requests of the path.
func atPath(path string) httpMatcher {
	return func(r *http.Request) bool { return r.URL.Path == path }
}

// posts matches POSTs of the messages that match.
func posts(matches messageMatcher) httpMatcher {
	return func(r *http.Request) bool {
		m, ok := posted(r)
		return ok && matches(m)
	}
}

// allOf matches requests that all matchers match.
func allOf(matchers ...httpMatcher) httpMatcher {
	return func(r *http.Request) bool {
		for _, matches := range matchers {
			if !matches(r) {
				return false
			}
		}
		return true
	}
}

// posted returns the message in the body of a POST, which can still be read; ok
// is false for other requests.
func posted(r *http.Request) (m wire.Message, ok bool) {
	if r.Method != http.MethodPost {
		return m, false
	}
	body, err := bodyOf(r)
	return wire.Parse(body), err == nil
}

// bodyOf reads the body of a request, which can still be read.
func bodyOf(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// setBody gives a request another body.
func setBody(r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// onHTTPRequest changes the requests that match before the server sees them.
func onHTTPRequest(matches httpMatcher, edit func(r *http.Request)) apply {
	return whenHTTP(matches, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		edit(r)
		next.ServeHTTP(w, r)
	})
}

// whenHTTP serves the requests that match in place of the server; next is the
// server.
func whenHTTP(matches httpMatcher, serve func(next http.Handler, w http.ResponseWriter, r *http.Request)) apply {
	return onHTTP(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if matches(r) {
				serve(next, w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
}

// respond answers the requests that match with a status and a body of the media
// type; both may be empty.
func respond(matches httpMatcher, status int, mediaType, body string) apply {
	return whenHTTP(matches, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		if mediaType != "" {
			w.Header().Set("Content-Type", mediaType)
		}
		w.WriteHeader(status)
		writeTo(w, []byte(body))
	})
}

// respondNotFound has nothing at what the requests that match ask for.
func respondNotFound(matches httpMatcher) apply {
	return whenHTTP(matches, func(_ http.Handler, w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
}

// writeTo writes a body. An error says that the client has left.
func writeTo(w http.ResponseWriter, body []byte) { _, _ = w.Write(body) }

// onHead changes the status and the header fields of answers to the requests that
// match right before they are written.
func onHead(matches httpMatcher, edit func(r *http.Request, status int, h http.Header) int) apply {
	return whenHTTP(matches, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		head := func(status int, h http.Header) int { return edit(r, status, h) }
		next.ServeHTTP(&headWriter{ResponseWriter: w, edit: head}, r)
	})
}

// onHeader changes the header fields of answers to the requests that match.
func onHeader(matches httpMatcher, edit func(h http.Header)) apply {
	return onHead(matches, func(_ *http.Request, status int, h http.Header) int {
		edit(h)
		return status
	})
}

// replaceStatus answers the requests that match with another status where the
// server answers with one.
func replaceStatus(matches httpMatcher, from, to int) apply {
	return onHead(matches, func(_ *http.Request, status int, _ http.Header) int {
		if status == from {
			return to
		}
		return status
	})
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

// onHTTPAnswer changes the answers to the requests that match as a whole. They
// must not be streams.
func onHTTPAnswer(matches httpMatcher, edit func(a *httpAnswer)) apply {
	return whenHTTP(matches, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		a := answerOf(next, r)
		edit(a)
		a.send(w)
	})
}

// onDocument changes the JSON documents at a path, and at the paths below it.
func onDocument(path string, edit func(document server.Object)) apply {
	return onHTTPAnswer(atOrBelow(path), editDocument(edit))
}

// editDocument changes the JSON document in an answer with a status of success.
func editDocument(edit func(document server.Object)) func(a *httpAnswer) {
	return func(a *httpAnswer) {
		if a.status >= 300 {
			return
		}
		var document server.Object
		decode(a.body.Bytes(), &document)
		edit(document)
		a.setBody(wire.Encode(document))
	}
}

// atOrBelow matches requests of the path and of the paths below it.
func atOrBelow(path string) httpMatcher {
	return func(r *http.Request) bool { return r.URL.Path == path || strings.HasPrefix(r.URL.Path, path+"/") }
}

// An httpAnswer is an answer that is kept until it is complete.
type httpAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *httpAnswer) Header() http.Header         { return a.header }
func (a *httpAnswer) WriteHeader(status int)      { a.status = status }
func (a *httpAnswer) Write(b []byte) (int, error) { return a.body.Write(b) }

// answerOf returns the answer of the server to a request, once it is complete.
func answerOf(next http.Handler, r *http.Request) *httpAnswer {
	a := &httpAnswer{header: http.Header{}, status: http.StatusOK}
	next.ServeHTTP(a, r)
	return a
}

// send writes the answer.
func (a *httpAnswer) send(w http.ResponseWriter) {
	for key, values := range a.header {
		w.Header()[key] = values
	}
	w.WriteHeader(a.status)
	writeTo(w, a.body.Bytes())
}

// set gives the answer another status and a body of the media type; "" for none.
func (a *httpAnswer) set(status int, mediaType string, body []byte) {
	a.status = status
	a.header["Content-Type"] = nil // so that net/http does not guess one
	if mediaType != "" {
		a.header["Content-Type"] = []string{mediaType}
	}
	a.setBody(body)
}

// setBody gives the answer another body.
func (a *httpAnswer) setBody(body []byte) {
	a.body = *bytes.NewBuffer(bytes.Clone(body))
}

// onHTTPError changes the answers to the requests that match which have a status
// of failure and an error with the code.
func onHTTPError(code int, matches func(r *http.Request, m wire.Message) bool, edit func(a *httpAnswer)) apply {
	return whenHTTP(
		func(r *http.Request) bool { m, ok := posted(r); return ok && matches(r, m) },
		func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			f := &failureWriter{ResponseWriter: w}
			next.ServeHTTP(f, r)
			if f.held == nil {
				return
			}
			if c, ok := wire.Parse(f.held.body.Bytes()).ErrorCode(); ok && c == code {
				edit(f.held)
			}
			f.held.send(w)
		})
}

// A failureWriter keeps an answer with a status of failure, and writes others.
type failureWriter struct {
	http.ResponseWriter
	held *httpAnswer
}

func (w *failureWriter) WriteHeader(status int) {
	if status >= 400 {
		w.held = &httpAnswer{header: w.Header().Clone(), status: status}
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *failureWriter) Write(b []byte) (int, error) {
	if w.held != nil {
		return w.held.body.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

func (w *failureWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// withStatus gives an answer another status.
func withStatus(status int) func(a *httpAnswer) { return func(a *httpAnswer) { a.status = status } }

// withCode gives the error of a header mismatch another code.
func withCode(code int) func(a *httpAnswer) {
	return func(a *httpAnswer) {
		from, to := fmt.Appendf(nil, `"code":%d`, spec.HeaderMismatch), fmt.Appendf(nil, `"code":%d`, code)
		a.set(a.status, "application/json", bytes.Replace(a.body.Bytes(), from, to, 1))
	}
}

// statelessOnly leaves the server the revisions without a handshake alone: what a
// server of both eras may do for clients of the other is wrong there.
func statelessOnly(o *server.Options) { o.Revisions = spec.Stateless }

// isStateless matches POSTs of requests of a stateless revision.
func isStateless(r *http.Request) bool {
	_, ok := statelessRequest(r)
	return ok
}

// statelessRequest returns the request in a POST of a stateless revision.
func statelessRequest(r *http.Request) (m wire.Message, ok bool) {
	m, ok = posted(r)
	return m, ok && m.Kind == wire.Request && versionOf(m) != ""
}

// versionOf returns the version that the _meta of a message names.
func versionOf(m wire.Message) string {
	return wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion).String()
}
