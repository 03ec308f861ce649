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

// NewPostRequest returns the request by which the session would post a message, for a
// caller that changes it and sends it with StartExchange. Over HTTP+SSE it waits
// until the server has named the URL for messages.
func (s *Session) NewPostRequest(ctx context.Context, raw []byte) (transport.HTTPRequest, error) {
	h, err := s.http()
	if err != nil {
		return transport.HTTPRequest{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.patience())
	defer cancel()
	return h.session.NewPostRequest(ctx, wire.Parse(raw))
}

// NewRequest returns a request with another HTTP method and the header fields of all
// requests of the session.
func (s *Session) NewRequest(method string) (transport.HTTPRequest, error) {
	h, err := s.http()
	if err != nil {
		return transport.HTTPRequest{}, err
	}
	return transport.HTTPRequest{Method: method, Header: h.session.SessionHeader()}, nil
}

// StartExchange sends an HTTP request that carries no message of the session. It
// returns once the head of the answer has come, and an error if it does not come
// within the timeout.
func (s *Session) StartExchange(ctx context.Context, r transport.HTTPRequest) (*transport.PendingExchange, error) {
	h, err := s.http()
	if err != nil {
		return nil, err
	}
	defer s.ExpectExchanges(1)()
	ctx, cancel := context.WithTimeoutCause(ctx, h.patience(), errTimeout)
	defer cancel()
	return h.session.StartExchange(ctx, r)
}

// StartExchangeAt sends the request to another address of the server.
func (s *Session) StartExchangeAt(
	ctx context.Context, address netip.Addr, r transport.HTTPRequest,
) (*transport.PendingExchange, error) {
	h, err := s.http()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.patience(), errTimeout)
	defer cancel()
	return h.session.StartExchangeAt(ctx, address, r)
}

// OpenRawConn opens a connection to the server for bytes that no HTTP client would
// send, within the timeout. The caller closes it.
func (s *Session) OpenRawConn(ctx context.Context) (*transport.RawConn, error) {
	h, err := s.http()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.patience(), errTimeout)
	defer cancel()
	return h.session.OpenRawConn(ctx)
}

// EncodeHTTPRequest returns a request as the bytes of one of HTTP/1.1, with all
// header fields that the session would send.
func (s *Session) EncodeHTTPRequest(r transport.HTTPRequest) ([]byte, error) {
	h, err := s.http()
	if err != nil {
		return nil, err
	}
	return h.endpoint.EncodeRequest(r), nil
}

// Endpoint returns the URL of the server; nil on stdio.
func (s *Session) Endpoint() *url.URL {
	h, err := s.http()
	if err != nil {
		return nil
	}
	return h.endpoint.URL
}

// BearerToken returns the access token that every request of the session carries; ""
// for none, and on stdio.
func (s *Session) BearerToken() string {
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
	return h.session.SessionHeader().Get(headerSessionID)
}

// LocalAddresses returns the addresses of this machine that other machines can reach:
// those of the options, or those of the network interfaces.
func (s *Session) LocalAddresses() []netip.Addr {
	if s.opts.LocalAddresses != nil {
		return s.opts.LocalAddresses()
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
