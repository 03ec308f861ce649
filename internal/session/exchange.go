package session

import (
	"context"
	"errors"
	"net"
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

const headerSessionID = "Mcp-Session-Id"

// Dial opens a connection to the server for bytes that no client of HTTP would
// send. The caller closes it.
func (s *Session) Dial(ctx context.Context) (net.Conn, error) {
	h, ok := s.link.(*httpLink)
	if !ok {
		return nil, errNoHTTP
	}
	return h.at.Dial(ctx)
}
