package server

import (
	"net/http"
	"time"
)

// hurry gives a client as long as Options.HTTP.Slow to send the body, which
// net/http waits for even behind a refusal, and then to read the answer. A
// request without body has no deadline to read: net/http already looks there for
// the client to leave.
func (h *HTTPHandler) withDeadlines(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	control := http.NewResponseController(w)
	if r.Body != http.NoBody {
		_ = control.SetReadDeadline(time.Now().Add(h.options.HTTP.Slow))
	}
	_ = control.SetWriteDeadline(time.Time{}) // that of the answer before
	return deadlineWriter{w, h.options.HTTP.Slow}
}

// hurried is an answer whose client has so long to read it, after as long for what
// is left of the body, which net/http awaits in between.
type deadlineWriter struct {
	http.ResponseWriter
	limit time.Duration
}

func (w deadlineWriter) WriteHeader(status int) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(2 * w.limit))
	w.ResponseWriter.WriteHeader(status)
}

func (w deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
