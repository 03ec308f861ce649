package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An HTTPRequest is one request to an endpoint.
type HTTPRequest struct {
	Method string
	URL    *url.URL    // nil for that of the endpoint
	Host   string      // replaces the host of the URL; "" to keep it
	Header http.Header // overrides the fields of the endpoint; a nil value drops one
	Body   []byte
	// OmitEndpointHeader omits the header fields of the endpoint, such as its access
	// token: the request goes to another server.
	OmitEndpointHeader bool
}

// url returns the URL of a request to an endpoint.
func (r HTTPRequest) url(e *Endpoint) *url.URL {
	if r.URL == nil {
		return e.URL
	}
	return r.URL
}

// header returns the header fields of a request to an endpoint, with canonical
// names.
func (r HTTPRequest) header(e *Endpoint) http.Header {
	own := e.opts.Header
	if r.OmitEndpointHeader {
		own = nil
	}
	out := http.Header{}
	for _, h := range []http.Header{identityEncoding, own, r.Header} {
		for key, values := range h {
			out[textproto.CanonicalMIMEHeaderKey(key)] = values
		}
	}
	return out
}

// Do sends a request and returns once the head of the answer has come. The context
// bounds the whole exchange, the body of the answer included.
func (e *Endpoint) Do(ctx context.Context, r HTTPRequest) (*HTTPResponse, error) {
	to := r.url(e)
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, r.Method, to.String(), bodyReader(r.Body))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("%s %s: %w", r.Method, to.Redacted(), err)
	}
	req.Host, req.Header = r.Host, r.header(e)
	answer, again, err := e.send(req)
	if err != nil {
		cancel()
		err = unwrapURLError(err)
		if again {
			err = fmt.Errorf("%w (%s)", err, retryNote)
		}
		return nil, fmt.Errorf("%s %s: %w", r.Method, to.Redacted(), err)
	}
	e.countStatus(answer.StatusCode)
	if answer.StatusCode == http.StatusSwitchingProtocols {
		// The bytes that follow are no body, and net/http hands over the connection.
		answer.Body.Close()
		answer.Body = http.NoBody
	}
	return &HTTPResponse{
		Status: answer.StatusCode, Header: answer.Header, RequestHeader: req.Header, Retried: again,
		body: answer.Body, length: answer.ContentLength, limit: e.opts.ReadLimit, cancel: cancel,
	}, nil
}

// EncodeRequest returns a request as the bytes of one of HTTP/1.1, with the header
// fields of the endpoint, so that a caller can change them and send them over a
// connection of its own. The request asks the server to close the connection after
// the answer.
func (e *Endpoint) EncodeRequest(r HTTPRequest) []byte {
	to, header := r.url(e), r.header(e)
	host := r.Host
	if host == "" {
		host = to.Host
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, to.RequestURI(), host)
	for _, key := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[key] {
			fmt.Fprintf(&b, "%s: %s\r\n", key, value)
		}
	}
	if r.Body != nil {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.Body))
	}
	b.WriteString("Connection: close\r\n\r\n")
	b.Write(r.Body)
	return b.Bytes()
}

// HTTPResponse is the answer to one request: its head, and a body that is read once,
// with NextEvent or ReadAll.
type HTTPResponse struct {
	Status        int
	Header        http.Header // of the answer
	RequestHeader http.Header // of the request, without the fields that net/http adds
	Retried       bool        // the request was sent twice: the server closed the first, idle connection

	events *EventReader
	body   io.ReadCloser
	length int64 // of the body; -1 if it is not known
	limit  int
	cancel context.CancelFunc
	once   sync.Once
}

// retryNote explains in a transcript why a server may have received a request
// twice.
const retryNote = "sent twice: the server closed the idle connection that the first attempt used"

// note returns a remark for readers of the transcript, or "".
func (r *HTTPResponse) note() string {
	if r.Retried {
		return retryNote
	}
	return ""
}

// MediaType returns the media type of the body without parameters, in lower case;
// "" if the answer names none.
func (r *HTTPResponse) MediaType() string { return wire.MediaType(r.Header) }

// IsEventStream reports whether the answer declares its body as an event stream.
func (r *HTTPResponse) IsEventStream() bool { return wire.IsEventStream(r.Header) }

// NextEvent returns the next block of an event stream as EventReader.Next does. It
// returns io.EOF if the peer ended the stream properly, and another error if the
// stream broke.
func (r *HTTPResponse) NextEvent() (wire.Frame, error) {
	if r.events == nil {
		r.events = NewEventReader(r.body, r.limit)
	}
	return r.events.Next()
}

// maxReserved bounds the memory that is reserved for a body before it comes, in bytes.
const maxReserved = 64 << 10

// ReadAll returns the body up to the limit of the endpoint. cut reports that the body
// was longer.
func (r *HTTPResponse) ReadAll() (all []byte, cut bool, err error) {
	defer r.Close()
	var b bytes.Buffer
	if r.length > bytes.MinRead { // announced by the peer, so that it reserves only so much
		b.Grow(int(min(r.length, maxReserved)) + bytes.MinRead)
	}
	_, err = b.ReadFrom(io.LimitReader(r.body, int64(r.limit)+1))
	all = b.Bytes()
	if len(all) > r.limit {
		all, cut = all[:r.limit], true
	}
	return all, cut, err
}

// Close ends the exchange. If its body has not come to its end, the peer sees its
// connection or HTTP/2 stream closed. Close may be called more than once.
func (r *HTTPResponse) Close() {
	r.once.Do(func() {
		r.cancel()
		r.body.Close()
	})
}

// bodyReader returns a reader of a body, nil for a request without one.
func bodyReader(b []byte) io.Reader {
	if b == nil {
		return nil
	}
	return bytes.NewReader(b)
}

// unwrapURLError removes the method and URL that net/http puts before an error, as
// the caller adds them too.
func unwrapURLError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
