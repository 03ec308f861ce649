package transport

import (
	"bytes"
	"maps"
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

// requestFrame returns the first frame of an exchange. raw is the message in it; nil
// for none.
func requestFrame(e *Endpoint, r HTTPRequest, raw []byte) wire.Frame {
	header := maps.Clone(r.Header)
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
	h := &wire.HTTP{Method: r.Method, URL: requestTarget(r.url(e)), Header: header}
	if raw == nil {
		h.Body = recordedText(r.Body)
	}
	return wire.Frame{From: wire.Client, Raw: raw, HTTP: h}
}

// recordRequest records a request before it is sent. raw is the message in it; nil
// for none.
func (x *exchangeLog) recordRequest(e *Endpoint, r HTTPRequest, raw []byte) (n, at int) {
	return x.begin(requestFrame(e, r, raw))
}

// begin numbers an exchange and records its first frame. It returns the number of the
// exchange and the index of the frame.
func (x *exchangeLog) begin(f wire.Frame) (n, at int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last++
	f.HTTP.Exchange = x.last
	return x.last, x.record(f)
}

// add records a frame of an exchange.
func (x *exchangeLog) add(f wire.Frame) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.record(f)
}

// recordHead records the head of an answer whose body is a stream.
func (x *exchangeLog) recordHead(n int, r *HTTPResponse) { x.add(headFrame(n, r)) }

// recordAnswer records an answer whose body is no message.
func (x *exchangeLog) recordAnswer(n int, r *HTTPResponse, body []byte) {
	x.add(withoutMessage(answerFrame(n, r, body, nil)))
}

// recordFailure records why an exchange has no answer.
func (x *exchangeLog) recordFailure(n int, err error) {
	x.add(wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: n, EndReason: err.Error(), Final: true}})
}

// recordEnd records the end of a stream. final reports that no other stream will
// continue it.
func (x *exchangeLog) recordEnd(n int, err error, final bool) { x.add(endFrame(n, err, final)) }

// recordClosedByClient records that this side closed an exchange.
func (x *exchangeLog) recordClosedByClient(n int) { x.add(closedFrame(n)) }

// endFrame returns the end of a stream.
func endFrame(n int, err error, final bool) wire.Frame {
	return wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: n, EndReason: endReason(err), Final: final}}
}

// closedByClient is the end of an exchange that this side closed.
const closedByClient = "closed by the client"

// closedFrame returns the end of an exchange that this side closed.
func closedFrame(n int) wire.Frame {
	return wire.Frame{From: wire.Client, HTTP: &wire.HTTP{Exchange: n, EndReason: closedByClient}}
}

// headFrame returns the head of an answer.
func headFrame(n int, r *HTTPResponse) wire.Frame {
	h := &wire.HTTP{Exchange: n, Status: r.Status, Header: r.Header}
	return wire.Frame{From: wire.Server, HTTP: h, Note: r.note()}
}

// answerFrame returns an answer with its whole body. broken is why the body is
// incomplete, or nil.
func answerFrame(n int, r *HTTPResponse, body []byte, broken error) wire.Frame {
	f := headFrame(n, r)
	if len(body) > 0 {
		f.Raw = body
	}
	if broken != nil {
		f.HTTP.EndReason, f.HTTP.Final = unwrapURLError(broken).Error(), true
	}
	return f
}

// withoutMessage returns a frame whose data is recorded as text, so that no judge takes
// it for a message of the session.
func withoutMessage(f wire.Frame) wire.Frame {
	h := *f.HTTP
	h.Body = recordedText(f.Raw)
	f.Raw, f.HTTP = nil, &h
	return f
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
