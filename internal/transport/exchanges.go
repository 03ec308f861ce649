package transport

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// exchanges numbers the exchanges of a session and records their frames.
type exchanges struct {
	record func(wire.Frame) int

	mu sync.Mutex
	n  int
}

// begin records a request, with the message in it or none, before it is sent.
func (x *exchanges) begin(e *Endpoint, r HTTPRequest, raw []byte) (n, at int) {
	to := r.URL
	if to == nil {
		to = e.URL
	}
	header := r.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	for key, values := range e.opts.Header {
		if _, set := header[key]; !set && !r.Strange {
			header[key] = hidden(values)
		}
	}
	if r.Host != "" {
		header["Host"] = []string{r.Host}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.n++
	f := wire.Frame{From: wire.Client, Raw: raw, HTTP: &wire.HTTP{Exchange: x.n, Method: r.Method, URL: withoutToken(to), Header: header}}
	if raw == nil {
		f.HTTP.Body = text(r.Body)
	}
	return x.n, x.record(f)
}

// bytes records what is sent as bytes, before it is.
func (x *exchanges) bytes(h wire.HTTP) (n, at int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.n++
	h.Exchange = x.n
	return x.n, x.record(wire.Frame{From: wire.Client, HTTP: &h})
}

// withoutToken is what a request asks for, without the access token in its query.
func withoutToken(to *url.URL) string {
	const key = "access_token"
	q := to.Query()
	if !q.Has(key) {
		return to.RequestURI()
	}
	q.Set(key, "…")
	shown := *to
	shown.RawQuery = q.Encode()
	return shown.RequestURI()
}

// hidden stands for the values that the user gives for headers, which nobody
// else may read.
func hidden(values []string) []string {
	return slices.Repeat([]string{"…"}, len(values))
}

// note records a frame of the server.
func (x *exchanges) note(f wire.Frame) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.record(f)
}

// head records the head of an answer whose body is a stream.
func (x *exchanges) head(n int, r *Reply) {
	x.note(wire.Frame{From: wire.Server, HTTP: headOf(n, r), Note: r.note()})
}

// whole records an answer whose body is no message.
func (x *exchanges) whole(n int, r *Reply, body []byte) {
	x.note(wire.Frame{From: wire.Server, HTTP: wholeOf(n, r, body, nil), Note: r.note()})
}

// wholeOf is an answer with its body as far as it came, and why it broke off, if
// it did.
func wholeOf(n int, r *Reply, body []byte, broke error) *wire.HTTP {
	h := headOf(n, r)
	h.Body = text(body)
	if broke != nil {
		h.End, h.Last = plain(broke).Error(), true
	}
	return h
}

// failed records why an exchange came to nothing.
func (x *exchanges) failed(n int, err error) {
	x.note(wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: n, End: err.Error(), Last: true}})
}

func headOf(n int, r *Reply) *wire.HTTP {
	return &wire.HTTP{Exchange: n, Status: r.Status, Header: r.Header}
}

// maxBody bounds what is kept of a body that is no message.
const maxBody = 2 << 10

func text(body []byte) string {
	return wire.Clip(string(bytes.ToValidUTF8(body, []byte("\ufffd"))), maxBody)
}
