package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// HTTPOptions say how requests are sent to an endpoint.
type HTTPOptions struct {
	Header      http.Header   // added to every request, such as a bearer token; recorded without its values
	TLS         *tls.Config   // nil for the defaults
	DialTimeout time.Duration // for a connection and its TLS handshake; 0 for 10 s
	Limit       int           // bytes kept of a line or a body; 0 for DefaultLineLimit
}

// An Endpoint is the client end of one URL. It neither follows redirects nor
// unpacks bodies nor keeps cookies: what the peer sends is what is seen. A
// proxy of the environment is passed over for loopback addresses.
type Endpoint struct {
	URL    *url.URL
	opts   HTTPOptions
	client *http.Client
	pool   *http.Transport

	limited  *atomic.Int64 // answers that a limit on the rate of requests gave
	lateHead atomic.Bool   // the head of a stream came with its first event only
	mirrors  sync.Map      // []mirrored of the tools that were listed to any session, by name
}

// idleConnection is how long a connection may be idle before it is closed: less
// than what servers commonly wait (2 s and more), so that hardly a request meets
// a connection that its server is about to close.
const idleConnection = 500 * time.Millisecond

// maxHead bounds the head of an answer, in bytes.
const maxHead = 1 << 20

// asIs is sent with every request: where the field is missing any coding may be
// chosen for the body (RFC 9110 section 12.5.3), and none is undone here.
var asIs = http.Header{"Accept-Encoding": {"identity"}}

// NewEndpoint returns the endpoint at a URL, which must be absolute and of
// http or https.
func NewEndpoint(raw string, o HTTPOptions) (*Endpoint, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the URL %q: %w", raw, err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the URL %q is not of http or https", raw)
	case u.Host == "":
		return nil, fmt.Errorf("the URL %q names no host", raw)
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = 10 * time.Second
	}
	if o.Limit <= 0 {
		o.Limit = DefaultLineLimit
	}
	pool := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: o.DialTimeout}).DialContext,
		TLSClientConfig:     o.TLS,
		TLSHandshakeTimeout: o.DialTimeout,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     idleConnection,

		MaxResponseHeaderBytes: maxHead,
	}
	return &Endpoint{URL: u, opts: o, pool: pool, limited: &atomic.Int64{}, client: &http.Client{
		Transport:     pool,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Shown returns the URL as a report may show it, without a password.
func (e *Endpoint) Shown() string { return e.URL.Redacted() }

// Bearer returns the access token that every request carries, "" for none.
func (e *Endpoint) Bearer() string {
	scheme, token, _ := strings.Cut(e.opts.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// WithBearer returns the same endpoint as somebody else calls it: who has another
// access token.
func (e *Endpoint) WithBearer(token string) *Endpoint {
	other := &Endpoint{URL: e.URL, opts: e.opts, client: e.client, pool: e.pool, limited: e.limited}
	other.opts.Header = e.opts.Header.Clone()
	if other.opts.Header == nil {
		other.opts.Header = http.Header{}
	}
	other.opts.Header.Set("Authorization", "Bearer "+token)
	return other
}

// Limited returns how many requests, also of others who call the endpoint, were
// answered with HTTP status 429, which says nothing of how they would be served
// (RFC 6585 section 4).
func (e *Endpoint) Limited() int64 { return e.limited.Load() }

// count notes the status of an answer.
func (e *Endpoint) count(status int) {
	if status == http.StatusTooManyRequests {
		e.limited.Add(1)
	}
}

// Close drops the idle connections.
func (e *Endpoint) Close() { e.pool.CloseIdleConnections() }

// At returns the endpoint as it is reached at another address: under the same
// name and port, by no proxy. Its connections are not kept.
func (e *Endpoint) At(address netip.Addr) *Endpoint {
	_, port, _ := net.SplitHostPort(e.address())
	to := net.JoinHostPort(address.String(), port)
	pool := e.pool.Clone()
	pool.Proxy, pool.DisableKeepAlives = nil, true
	pool.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: e.opts.DialTimeout}).DialContext(ctx, network, to)
	}
	return &Endpoint{URL: e.URL, opts: e.opts, pool: pool, limited: e.limited, client: &http.Client{Transport: pool, CheckRedirect: e.client.CheckRedirect}}
}

// An HTTPRequest is one request to an endpoint.
type HTTPRequest struct {
	Method string
	URL    *url.URL    // nil for the endpoint's
	Host   string      // instead of the URL's, if not ""
	Header http.Header // beside those of the endpoint, which it overrides; a nil value drops one
	Body   []byte
	// Strange: it goes to who is not meant to see the header fields of the endpoint,
	// such as its token.
	Strange bool
}

// A Reply is the answer to one request: its head, and a body to be read once,
// by Next or by All.
type Reply struct {
	Status int
	Proto  string      // HTTP/1.1, HTTP/2.0
	Header http.Header // of the answer
	Sent   http.Header // what was sent, with what net/http added
	Again  bool        // it was sent a second time, since the first met a connection that was closed while idle

	events *EventReader
	body   io.ReadCloser
	limit  int
	cancel context.CancelFunc
	once   sync.Once
}

// Do sends a request and returns once the head of the answer came. The context
// bounds the whole exchange, the body included.
func (e *Endpoint) Do(ctx context.Context, r HTTPRequest) (*Reply, error) {
	to := r.URL
	if to == nil {
		to = e.URL
	}
	ctx, cancel := context.WithCancel(ctx)
	sent := &wrote{header: http.Header{}}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, sent.trace()), r.Method, to.String(), body(r.Body))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("%s %s: %w", r.Method, to.Redacted(), err)
	}
	req.Host = r.Host
	own := e.opts.Header
	if r.Strange {
		own = nil
	}
	for _, h := range []http.Header{asIs, own, r.Header} {
		for key, values := range h {
			req.Header[textproto.CanonicalMIMEHeaderKey(key)] = values
		}
	}
	answer, again, err := e.send(req)
	if err != nil {
		cancel()
		if again {
			err = fmt.Errorf("%w (%s)", plain(err), sentAgain)
		}
		return nil, fmt.Errorf("%s %s: %w", r.Method, to.Redacted(), plain(err))
	}
	e.count(answer.StatusCode)
	if answer.StatusCode == http.StatusSwitchingProtocols {
		// What follows is no body, and net/http leaves the connection to us.
		answer.Body.Close()
		answer.Body = http.NoBody
	}
	return &Reply{
		Status: answer.StatusCode, Proto: answer.Proto, Header: answer.Header, Sent: sent.all(),
		Again: again, body: answer.Body, limit: e.opts.Limit, cancel: cancel,
	}, nil
}

// sentAgain tells a reader of the transcript why a server may have seen a request twice.
const sentAgain = "sent again on a new connection, since the one kept was closed before anything came"

// note returns what a reader must know of how the answer came about.
func (r *Reply) note() string {
	if r.Again {
		return sentAgain
	}
	return ""
}

func body(b []byte) io.Reader {
	if b == nil {
		return nil
	}
	return bytes.NewReader(b)
}

// plain takes off what net/http says twice: the method and the URL.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// MediaType returns the media type of the body without parameters, in lower
// case; "" if none is named.
func (r *Reply) MediaType() string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		kind, _, _ = strings.Cut(r.Header.Get("Content-Type"), ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	return kind
}

// Streams tells whether the body is declared as an event stream.
func (r *Reply) Streams() bool { return r.MediaType() == "text/event-stream" }

// Next returns the next block of an event stream; io.EOF once the peer ended
// it properly, another error if it broke.
func (r *Reply) Next() (Event, error) {
	if r.events == nil {
		r.events = NewEventReader(r.body, r.limit)
	}
	return r.events.Next()
}

// All returns the body, at most as many bytes as the limit; cut tells that it
// had more.
func (r *Reply) All() (all []byte, cut bool, err error) {
	defer r.Close()
	all, err = io.ReadAll(io.LimitReader(r.body, int64(r.limit)+1))
	if len(all) > r.limit {
		all, cut = all[:r.limit], true
	}
	return all, cut, err
}

// Close ends the exchange; where its body has not come to its end the peer
// sees the connection, or the HTTP/2 stream, closed. Safe to call more than
// once.
func (r *Reply) Close() {
	r.once.Do(func() {
		r.cancel()
		r.body.Close()
	})
}

// wrote collects the header fields as net/http writes them.
type wrote struct {
	mu     sync.Mutex
	header http.Header
}

func (w *wrote) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{WroteHeaderField: func(key string, values []string) {
		if strings.HasPrefix(key, ":") {
			return // of HTTP/2
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.header[textproto.CanonicalMIMEHeaderKey(key)] = append([]string(nil), values...)
	}}
}

func (w *wrote) all() http.Header {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.header.Clone()
}

// address returns host and port.
func (e *Endpoint) address() string { return net.JoinHostPort(e.URL.Hostname(), portOf(e.URL)) }

// portOf returns the port of a URL, that of its scheme where it names none.
func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// Dial opens a connection to the endpoint's host for bytes that net/http would
// repair or refuse to send.
func (e *Endpoint) Dial(ctx context.Context) (net.Conn, error) {
	host := e.address()
	dialer := &net.Dialer{Timeout: e.opts.DialTimeout}
	if e.URL.Scheme == "http" {
		c, err := dialer.DialContext(ctx, "tcp", host)
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", host, err)
		}
		return c, nil
	}
	config := &tls.Config{}
	if e.opts.TLS != nil {
		config = e.opts.TLS.Clone()
	}
	config.NextProtos = []string{"http/1.1"}
	c, err := (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", host, err)
	}
	return c, nil
}
