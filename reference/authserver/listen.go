package authserver

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Listen serves an authorization server for tests of any server on an address of
// the loopback interface, as host:port; port 0 means any free port. stop ends it.
func Listen(addr string) (s *Server, stop func() error, err error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	if !isLoopback(host) {
		return nil, nil, fmt.Errorf("listen on %s: this is not an address of the loopback interface, "+
			"such as 127.0.0.1, and every client is given tokens", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	s = New("http://"+l.Addr().String(), Scopes{})
	web := s.httpServer(10 * time.Second)
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

// httpServer returns the HTTP server. limit is the time that a client has to send a
// request, and to read its answer.
func (s *Server) httpServer(limit time.Duration) *http.Server {
	return &http.Server{
		Handler: s, ReadTimeout: limit, WriteTimeout: 2 * limit, IdleTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0),
	}
}
