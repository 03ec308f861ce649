package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A Listener is a server over HTTP that listens.
type Listener struct {
	handler *HTTPHandler
	server  *http.Server
	addr    net.Addr
	ended   chan error
}

// Listen serves over HTTP on an address, as host:port; port 0 means any free port.
// Unless Options.HTTP.AllowedHosts names the server, the host must be one of the loopback
// interface (basic/transports#security-warning).
func Listen(addr string, o Options) (*Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	ip := net.ParseIP(host)
	if len(o.HTTP.AllowedHosts) == 0 && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen on %s: this is not an address of the loopback interface, such as 127.0.0.1, "+
			"and the options name no hosts that the server may be reached by", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	if o.HTTP.Authorization != nil && o.HTTP.Authorization.AtOrigin != nil {
		guard := *o.HTTP.Authorization
		guard.Authority, guard.Hosted = guard.AtOrigin("http://" + l.Addr().String())
		o.HTTP.Authorization = &guard
	}
	handler := NewHTTPHandler(o)
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // aborted connections are expected
	}
	out := &Listener{handler: handler, server: server, addr: l.Addr(), ended: make(chan error, 1)}
	go func() { out.ended <- server.Serve(wrapped(l, o.HTTP.Connections)) }()
	for _, host := range o.HTTP.ExtraHosts {
		_, port, _ := net.SplitHostPort(l.Addr().String())
		more, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listen on %s as well: %w", host, err), out.Close())
		}
		go func() { _ = server.Serve(wrapped(more, o.HTTP.Connections)) }() // ends when the first one does
	}
	return out, nil
}

// SecondLoopbackAddress returns an address of the loopback interface that is not 127.0.0.1 and can
// be listened on; ok is false if there is none. A server that listens on it as well
// stands for one that is reached from other machines.
func SecondLoopbackAddress() (address netip.Addr, ok bool) {
	for _, host := range []string{"127.0.0.2", "::1"} {
		if l, err := net.Listen("tcp", net.JoinHostPort(host, "0")); err == nil {
			return netip.MustParseAddr(host), l.Close() == nil
		}
	}
	return address, false
}

// HTTPTarget returns the server as a target over HTTP: it listens on a port of the
// loopback interface in this process, until end is called. If over is HTTP+SSE the
// target is the endpoint for the revision that has it.
func HTTPTarget(over transport.Kind, o Options) (target transport.HTTPTarget, end func(), err error) {
	l, err := Listen("127.0.0.1:0", o)
	if err != nil {
		return target, nil, err
	}
	url := l.URL()
	if over == transport.SSE {
		url = l.SSE()
	}
	at, err := transport.NewEndpoint(url, transport.HTTPOptions{})
	if err != nil {
		return target, nil, errors.Join(err, l.Close())
	}
	return transport.HTTPTarget{Endpoint: at, Kind: over}, func() {
		at.Close()
		_ = l.Close() // fails if a connection did not end in time, which then is cut
	}, nil
}

// URL returns the URL of the MCP endpoint.
func (l *Listener) URL() string { return "http://" + l.addr.String() + pathMCP }

// SSE returns the URL of the endpoint of HTTP+SSE.
func (l *Listener) SSE() string { return "http://" + l.addr.String() + pathSSE }

// URLs returns the URLs of the available endpoints: the MCP endpoint unless the
// server speaks only the oldest revision, and that of HTTP+SSE if it speaks it.
func (l *Listener) URLs() []string {
	var out []string
	if l.handler.options.Revisions&streamableRevisions != 0 {
		out = append(out, l.URL())
	}
	if l.handler.options.Revisions&sseRevisions != 0 {
		out = append(out, l.SSE())
	}
	return out
}

// Close ends sessions and streams, gives requests in flight the grace period, and
// closes all connections.
func (l *Listener) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	l.handler.Close()
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = l.server.Close() // cuts the connections of clients that still read
	}
	if end := <-l.ended; !errors.Is(end, http.ErrServerClosed) {
		return fmt.Errorf("serve on %s: %w", l.addr, end)
	}
	return err
}
