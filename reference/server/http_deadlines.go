package server

import (
	"net/http"
	"time"
)

// withDeadlines gives a client the time Options.HTTP.ClientTimeout to send the body, which
// net/http awaits even after a refusal, and then to read the answer. A request
// without body gets no read deadline: net/http already reads there, to notice that
// the client leaves.
func (h *HTTPHandler) withDeadlines(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	control := http.NewResponseController(w)
	if r.Body != http.NoBody {
		_ = control.SetReadDeadline(time.Now().Add(h.options.HTTP.ClientTimeout))
	}
	_ = control.SetWriteDeadline(time.Time{}) // clears that of the previous answer
	return deadlineWriter{w, h.options.HTTP.ClientTimeout}
}

// A deadlineWriter sets the write deadline when the answer begins. It is twice the
// limit, since net/http may first await the rest of the body.
type deadlineWriter struct {
	http.ResponseWriter
	limit time.Duration
}

func (w deadlineWriter) WriteHeader(status int) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(2 * w.limit))
	w.ResponseWriter.WriteHeader(status)
}

func (w deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
