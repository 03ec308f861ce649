package transport

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An exchangeLog numbers the exchanges of a session and records their frames.
type exchangeLog struct {
	record func(wire.Frame) int

	mu   sync.Mutex
	last int // number of the last exchange
}

// recordRequest records a request before it is sent. raw is the message in it; nil
// for none.
func (x *exchangeLog) recordRequest(e *Endpoint, r HTTPRequest, raw []byte) (n, at int) {
	header := r.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	for key, values := range e.opts.Header {
		if _, set := header[key]; !set && !r.OmitEndpointHeader {
			header[key] = maskedValues(values)
		}
	}
	if r.Host != "" {
		header["Host"] = []string{r.Host}
	}
	h := wire.HTTP{Method: r.Method, URL: requestTarget(r.url(e)), Header: header}
	if raw == nil {
		h.Body = recordedText(r.Body)
	}
	return x.recordNew(h, raw)
}

// recordNew records the first frame of an exchange and returns the number of the
// exchange and the index of the frame.
func (x *exchangeLog) recordNew(h wire.HTTP, raw []byte) (n, at int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last++
	h.Exchange = x.last
	return x.last, x.record(wire.Frame{From: wire.Client, Raw: raw, HTTP: &h})
}

// add records a frame of an exchange.
func (x *exchangeLog) add(f wire.Frame) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.record(f)
}

// recordHead records the head of an answer whose body is a stream.
func (x *exchangeLog) recordHead(n int, r *HTTPResponse) {
	x.add(wire.Frame{From: wire.Server, HTTP: headFrame(n, r), Note: r.note()})
}

// recordAnswer records an answer whose body is no message.
func (x *exchangeLog) recordAnswer(n int, r *HTTPResponse, body []byte) {
	x.add(wire.Frame{From: wire.Server, HTTP: answerFrame(n, r, body, nil), Note: r.note()})
}

// recordFailure records why an exchange has no answer.
func (x *exchangeLog) recordFailure(n int, err error) {
	x.add(wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: n, EndReason: err.Error(), Final: true}})
}

// recordEnd records the end of a stream. final reports that no other stream will
// continue it.
func (x *exchangeLog) recordEnd(n int, err error, final bool) {
	x.add(wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: n, EndReason: endReason(err), Final: final}})
}

// closedByClient is the end of an exchange that this side closed.
const closedByClient = "closed by the client"

// recordClosedByClient records that this side closed an exchange.
func (x *exchangeLog) recordClosedByClient(n int) {
	x.add(wire.Frame{From: wire.Client, HTTP: &wire.HTTP{Exchange: n, EndReason: closedByClient}})
}

// headFrame returns the HTTP part of the head of an answer.
func headFrame(n int, r *HTTPResponse) *wire.HTTP {
	return &wire.HTTP{Exchange: n, Status: r.Status, Header: r.Header}
}

// answerFrame returns the HTTP part of an answer with its body. broken is why the
// body is incomplete, or nil.
func answerFrame(n int, r *HTTPResponse, body []byte, broken error) *wire.HTTP {
	h := headFrame(n, r)
	h.Body = recordedText(body)
	if broken != nil {
		h.EndReason, h.Final = unwrapURLError(broken).Error(), true
	}
	return h
}

// requestTarget returns the request target of a URL, without the access token that
// its query may hold.
func requestTarget(to *url.URL) string {
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

// maskedValues replaces header values that the user gave: they may be secrets.
func maskedValues(values []string) []string {
	return slices.Repeat([]string{"…"}, len(values))
}

// maxRecordedBody bounds what is recorded of a body that is no message, in bytes.
const maxRecordedBody = 2 << 10

func recordedText(body []byte) string {
	return wire.Clip(string(bytes.ToValidUTF8(body, []byte("\ufffd"))), maxRecordedBody)
}
