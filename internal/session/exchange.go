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

// errNoHTTP is returned for requests of HTTP on another transport.
var errNoHTTP = errors.New("the session is not one over HTTP")

// Posting returns the request by which the session would post a message, to be
// changed and sent by Exchange: a header less, another host, other bytes. Over
// HTTP+SSE it waits until the server has said where messages go.
func (s *Session) Posting(ctx context.Context, raw []byte) (transport.HTTPRequest, error) {
	h, ok := s.link.(*httpLink)
	if !ok {
		return transport.HTTPRequest{}, errNoHTTP
	}
	ctx, cancel := context.WithTimeout(ctx, h.within)
	defer cancel()
	return h.session.Posting(ctx, wire.Parse(raw))
}

// Asking returns a request of another method with the header fields that all
// requests of the session have.
func (s *Session) Asking(method string) (transport.HTTPRequest, error) {
	h, ok := s.link.(*httpLink)
	if !ok {
		return transport.HTTPRequest{}, errNoHTTP
	}
	return transport.HTTPRequest{Method: method, Header: h.session.Fields()}, nil
}

// Exchange sends a request of HTTP beside the messages of the session, and
// returns once the head of the answer came: within the time for an answer, else
// with an error. Neither the request nor the answer is a message to judges.
func (s *Session) Exchange(ctx context.Context, r transport.HTTPRequest) (*transport.Exchange, error) {
	h, ok := s.link.(*httpLink)
	if !ok {
		return nil, errNoHTTP
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.within, errTimeout)
	defer cancel()
	return h.session.Exchange(ctx, r)
}

// ExchangeAt is Exchange at another address of the server.
func (s *Session) ExchangeAt(ctx context.Context, address netip.Addr, r transport.HTTPRequest) (*transport.Exchange, error) {
	h, ok := s.link.(*httpLink)
	if !ok {
		return nil, errNoHTTP
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.within, errTimeout)
	defer cancel()
	return h.session.ExchangeAt(ctx, address, r)
}

// Addresses returns the addresses by which other machines reach this one, as the
// options or else the system tell them.
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

// Site returns the URL of the server over HTTP, nil on another transport, and the
// bearer token that every request of the session carries, "" for none.
func (s *Session) Site() (at *url.URL, token string) {
	h, ok := s.link.(*httpLink)
	if !ok {
		return nil, ""
	}
	return h.at.URL, h.at.Bearer()
}

// SessionID returns the id that the server gave the session over HTTP, or "".
func (s *Session) SessionID() string {
	if h, ok := s.link.(*httpLink); ok {
		return h.session.Fields().Get(headerSessionID)
	}
	return ""
}

// Endpoint returns the URL at which the server is spoken to over HTTP, nil on
// another transport.
func (s *Session) Endpoint() *url.URL {
	if h, ok := s.link.(*httpLink); ok {
		return h.at.URL
	}
	return nil
}

const headerSessionID = "Mcp-Session-Id"

// Raw opens a connection to the server for bytes that no client of HTTP would
// send, within the time for an answer. The caller closes it.
func (s *Session) Raw(ctx context.Context) (*transport.Raw, error) {
	h, ok := s.link.(*httpLink)
	if !ok {
		return nil, errNoHTTP
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.within, errTimeout)
	defer cancel()
	return h.session.Raw(ctx)
}

// Bytes returns a request as the bytes of one of HTTP/1.1, with all header
// fields that it would be sent with.
func (s *Session) Bytes(r transport.HTTPRequest) ([]byte, error) {
	h, ok := s.link.(*httpLink)
	if !ok {
		return nil, errNoHTTP
	}
	return h.at.Bytes(r), nil
}
