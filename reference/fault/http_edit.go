package fault

import (
	"bytes"
	"io"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onHTTP decorates what sees each request of HTTP first and its answer last.
// Decorators that were there before stay inside.
func onHTTP(decorate func(next http.Handler) http.Handler) apply {
	return func(o *server.Options) {
		inner := o.HTTP.Middleware
		o.HTTP.Middleware = func(next http.Handler) http.Handler {
			if inner != nil {
				next = inner(next)
			}
			return decorate(next)
		}
	}
}

// whenHTTP answers the requests that fit in another way; next is the honest one.
func whenHTTP(fits func(r *http.Request) bool, answer func(next http.Handler, w http.ResponseWriter, r *http.Request)) apply {
	return onHTTP(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if fits(r) {
				answer(next, w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
}

// onRequestOf changes the requests of HTTP that fit before the server sees them.
func onRequestOf(fits func(r *http.Request) bool, edit func(r *http.Request)) apply {
	return whenHTTP(fits, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		edit(r)
		next.ServeHTTP(w, r)
	})
}

// onStatus answers with another status where the honest one of a request that
// fits is from.
func onStatus(fits func(r *http.Request) bool, from, to int) apply {
	return whenHTTP(fits, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&restated{ResponseWriter: w, from: from, to: to}, r)
	})
}

// restated writes one status in place of another.
type restated struct {
	http.ResponseWriter
	from, to int
}

func (w *restated) WriteHeader(status int) {
	if status == w.from {
		status = w.to
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *restated) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// onHead changes the header fields of answers to requests that fit right before
// they are written.
func onHead(fits func(r *http.Request) bool, edit func(status int, h http.Header)) apply {
	return whenHTTP(fits, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&headed{ResponseWriter: w, edit: edit}, r)
	})
}

type headed struct {
	http.ResponseWriter
	edit func(status int, h http.Header)
}

func (w *headed) WriteHeader(status int) {
	w.edit(status, w.Header())
	w.ResponseWriter.WriteHeader(status)
}

func (w *headed) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// onWhole changes answers to requests that fit as a whole: they must be no
// streams.
func onWhole(fits func(r *http.Request) bool, edit func(a *whole)) apply {
	return whenHTTP(fits, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		a := &whole{header: http.Header{}, status: http.StatusOK}
		next.ServeHTTP(a, r)
		edit(a)
		for key, values := range a.header {
			w.Header()[key] = values
		}
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body.Bytes()) // who cannot be written to has left
	})
}

// whole is an answer that is kept until it is complete.
type whole struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *whole) Header() http.Header         { return a.header }
func (a *whole) WriteHeader(status int)      { a.status = status }
func (a *whole) Write(b []byte) (int, error) { return a.body.Write(b) }

// set puts another body in place of that of the answer, of a media type; "" for
// none.
func (a *whole) set(status int, kind string, body []byte) {
	a.status = status
	a.header["Content-Type"] = nil // so that net/http does not guess one
	if kind != "" {
		a.header["Content-Type"] = []string{kind}
	}
	a.body.Reset()
	a.body.Write(body)
}

// posted returns the message in the body of a POST, which can still be read; ok
// is false for other requests.
func posted(r *http.Request) (m wire.Message, ok bool) {
	if r.Method != http.MethodPost {
		return m, false
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return wire.Parse(body), err == nil
}

// posts fits POSTs of messages of a kind and method; "" means any method.
func posts(kind wire.Kind, method string) func(r *http.Request) bool {
	return func(r *http.Request) bool {
		m, ok := posted(r)
		return ok && m.Kind == kind && (method == "" || m.Method() == method)
	}
}

// both fits requests that fit all.
func both(fits ...func(r *http.Request) bool) func(r *http.Request) bool {
	return func(r *http.Request) bool {
		for _, f := range fits {
			if !f(r) {
				return false
			}
		}
		return true
	}
}

// has fits requests that have a header field.
func has(field string) func(r *http.Request) bool {
	return func(r *http.Request) bool { return r.Header.Get(field) != "" }
}

// by fits requests of a method of HTTP.
func by(method string) func(r *http.Request) bool {
	return func(r *http.Request) bool { return r.Method == method }
}
