package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// HTTPOptions are the options of an Endpoint.
type HTTPOptions struct {
	Header      http.Header   // added to every request, such as an access token; recorded without the values
	TLS         *tls.Config   // nil for the defaults
	DialTimeout time.Duration // for a connection and its TLS handshake; 0 for 10 s
	ReadLimit   int           // bytes kept of a line or a body; 0 for DefaultLineLimit
}

// An Endpoint sends HTTP requests to one URL. It does not follow redirects, decode
// content codings or keep cookies, so that a caller sees what the peer sends. It
// uses a proxy of the environment, except for loopback addresses.
type Endpoint struct {
	URL          *url.URL
	opts         HTTPOptions
	httpClient   *http.Client
	roundTripper *http.Transport // of httpClient

	rateLimited        *atomic.Int64 // answers with status 429; shared with derived endpoints
	headWithFirstEvent atomic.Bool   // the server sent the head of a stream only with its first event
	toolHeaders        sync.Map      // []toolHeader by the name of a tool that any session listed
}

// idleConnection is how long an idle connection is kept. Servers commonly keep one
// for 2 s or more, so a request rarely goes over a connection that its server is
// closing.
const idleConnection = 500 * time.Millisecond

// maxHead bounds the head of an answer, in bytes.
const maxHead = 1 << 20

// identityEncoding is sent with every request. Without the field a server may
// choose any content coding (RFC 9110 section 12.5.3), and none is decoded here.
var identityEncoding = http.Header{"Accept-Encoding": {"identity"}}

// NewEndpoint returns the endpoint at an absolute URL of http or https.
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
	if o.ReadLimit <= 0 {
		o.ReadLimit = DefaultLineLimit
	}
	roundTripper := &http.Transport{
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
	return newEndpoint(u, o, roundTripper, &atomic.Int64{}), nil
}

func newEndpoint(u *url.URL, o HTTPOptions, roundTripper *http.Transport, rateLimited *atomic.Int64) *Endpoint {
	return &Endpoint{URL: u, opts: o, roundTripper: roundTripper, rateLimited: rateLimited, httpClient: &http.Client{
		Transport:     roundTripper,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Redacted returns the URL without its password, for reports.
func (e *Endpoint) Redacted() string { return e.URL.Redacted() }

// Bearer returns the access token that every request carries; "" for none.
func (e *Endpoint) Bearer() string {
	scheme, token, _ := strings.Cut(e.opts.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// WithBearer returns the endpoint with another access token, as another user would
// call it.
func (e *Endpoint) WithBearer(token string) *Endpoint {
	o := e.opts
	o.Header = o.Header.Clone()
	if o.Header == nil {
		o.Header = http.Header{}
	}
	o.Header.Set("Authorization", "Bearer "+token)
	return newEndpoint(e.URL, o, e.roundTripper, e.rateLimited)
}

// RateLimitedCount returns the number of answers with HTTP status 429, which says
// nothing about the request itself (RFC 6585 section 4). It includes the answers to
// endpoints that were derived from this one.
func (e *Endpoint) RateLimitedCount() int64 { return e.rateLimited.Load() }

// countStatus counts an answer that a rate limit gave.
func (e *Endpoint) countStatus(status int) {
	if status == http.StatusTooManyRequests {
		e.rateLimited.Add(1)
	}
}

// Close closes the idle connections.
func (e *Endpoint) Close() { e.roundTripper.CloseIdleConnections() }

// atAddress returns the endpoint at another address, with the same host name and
// port. It uses no proxy and keeps no connection.
func (e *Endpoint) atAddress(address netip.Addr) *Endpoint {
	_, port, _ := net.SplitHostPort(e.hostPort())
	to := net.JoinHostPort(address.String(), port)
	roundTripper := e.roundTripper.Clone()
	roundTripper.Proxy, roundTripper.DisableKeepAlives = nil, true
	roundTripper.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: e.opts.DialTimeout}).DialContext(ctx, network, to)
	}
	return newEndpoint(e.URL, e.opts, roundTripper, e.rateLimited)
}

// hostPort returns the host and port of the URL.
func (e *Endpoint) hostPort() string { return net.JoinHostPort(e.URL.Hostname(), portOrDefault(e.URL)) }

// portOrDefault returns the port of a URL, or the default port of its scheme.
func portOrDefault(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// dial opens a connection to the host of the endpoint, for bytes that net/http would
// repair or refuse to send.
func (e *Endpoint) dial(ctx context.Context) (net.Conn, error) {
	host := e.hostPort()
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
