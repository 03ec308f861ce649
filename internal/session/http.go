package session

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// errNotHTTP is the error of HTTP requests in a session over stdio.
var errNotHTTP = errors.New("the session does not use HTTP")

const headerSessionID = "Mcp-Session-Id"

// http returns the link of a session over HTTP.
func (s *Session) http() (*httpLink, error) {
	h, ok := s.link.(*httpLink)
	if !ok {
		return nil, errNotHTTP
	}
	return h, nil
}

// Posting returns the request by which the session would post a message, for a
// caller that changes it and sends it with Exchange. Over HTTP+SSE it waits until
// the server has named the URL for messages.
func (s *Session) Posting(ctx context.Context, raw []byte) (transport.HTTPRequest, error) {
	h, err := s.http()
	if err != nil {
		return transport.HTTPRequest{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	return h.session.Posting(ctx, wire.Parse(raw))
}

// Asking returns a request with another HTTP method and the header fields of all
// requests of the session.
func (s *Session) Asking(method string) (transport.HTTPRequest, error) {
	h, err := s.http()
	if err != nil {
		return transport.HTTPRequest{}, err
	}
	return transport.HTTPRequest{Method: method, Header: h.session.Fields()}, nil
}

// Exchange sends an HTTP request that carries no message of the session. It returns
// once the head of the answer has come, and an error if it does not come within the
// timeout.
func (s *Session) Exchange(ctx context.Context, r transport.HTTPRequest) (*transport.Exchange, error) {
	h, err := s.http()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, errTimeout)
	defer cancel()
	return h.session.Exchange(ctx, r)
}

// ExchangeAt sends the request to another address of the server.
func (s *Session) ExchangeAt(
	ctx context.Context, address netip.Addr, r transport.HTTPRequest,
) (*transport.Exchange, error) {
	h, err := s.http()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, errTimeout)
	defer cancel()
	return h.session.ExchangeAt(ctx, address, r)
}

// Raw opens a connection to the server for bytes that no HTTP client would send,
// within the timeout. The caller closes it.
func (s *Session) Raw(ctx context.Context) (*transport.Raw, error) {
	h, err := s.http()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, errTimeout)
	defer cancel()
	return h.session.Raw(ctx)
}

// Bytes returns a request as the bytes of one of HTTP/1.1, with all header fields
// that the session would send.
func (s *Session) Bytes(r transport.HTTPRequest) ([]byte, error) {
	h, err := s.http()
	if err != nil {
		return nil, err
	}
	return h.endpoint.Bytes(r), nil
}

// Endpoint returns the URL of the server; nil on stdio.
func (s *Session) Endpoint() *url.URL {
	h, err := s.http()
	if err != nil {
		return nil
	}
	return h.endpoint.URL
}

// Bearer returns the access token that every request of the session carries; "" for
// none, and on stdio.
func (s *Session) Bearer() string {
	h, err := s.http()
	if err != nil {
		return ""
	}
	return h.endpoint.Bearer()
}

// SessionID returns the id that the server gave the session over HTTP; "" for none.
func (s *Session) SessionID() string {
	h, err := s.http()
	if err != nil {
		return ""
	}
	return h.session.Fields().Get(headerSessionID)
}

// Addresses returns the addresses of this machine that other machines can reach:
// those of the options, or those of the network interfaces.
func (s *Session) Addresses() []netip.Addr {
	if s.opts.Addresses != nil {
		return s.opts.Addresses()
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Addr
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			out = append(out, p.Addr())
		}
	}
	return out
}
