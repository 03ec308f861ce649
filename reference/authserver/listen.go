package authserver

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// Library are the scopes of the reference server.
func Library() Scopes {
	return Scopes{
		Usual:  server.ScopeEnter + " " + server.ScopeRead + " " + server.ScopeDesk,
		Narrow: server.ScopeEnter,
		Broad:  server.ScopeAll,
	}
}

// Protect has a reference server serve only who brings a token of an
// authorization server at its own origin, which is made when it listens and
// given to made.
func Protect(o server.Options, made func(*Server)) server.Options {
	guard := server.Guard{}
	if o.HTTP.Guard != nil {
		guard = *o.HTTP.Guard
	}
	guard.For = func(origin string) (server.Authority, http.Handler) {
		s := New(origin, Library())
		s.resource = origin + "/mcp"
		made(s)
		return s, s
	}
	o.HTTP.Guard = &guard
	return o
}

// Listen serves an authorization server for tests of any server on an address of
// the loopback interface, as host:port, of which the port may be 0. stop ends it.
func Listen(addr string) (s *Server, stop func() error, err error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	if !loopback(host) {
		return nil, nil, fmt.Errorf("listen on %s: this is not the loopback interface, such as 127.0.0.1, and whoever asks is given tokens", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	s = New("http://"+l.Addr().String(), Scopes{})
	web := s.web(10 * time.Second)
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	return s, func() error {
		err := web.Close()
		if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
			return fmt.Errorf("serve on %s: %w", l.Addr(), end)
		}
		return err
	}, nil
}

// web serves who takes at most so long to send a request, and to read its answer.
func (s *Server) web(slow time.Duration) *http.Server {
	return &http.Server{Handler: s, ReadTimeout: slow, WriteTimeout: 2 * slow, IdleTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
}
