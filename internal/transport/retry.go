package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// send sends a request. If the request went over an idle connection that the server
// was closing, which a server may do at any time (RFC 9112 section 9.6), send sends
// it once more over a new connection: net/http does not repeat a POST. A request
// over a new connection is never repeated.
func (e *Endpoint) send(req *http.Request) (answer *http.Response, again bool, err error) {
	trace := &connectionTrace{}
	answer, err = e.httpClient.Do(req.WithContext(trace.withTrace(req.Context())))
	if err == nil || req.Context().Err() != nil || !trace.mayHaveBeenIdle(err) {
		return answer, false, err
	}
	second := req.Clone(req.Context())
	if req.GetBody != nil {
		if second.Body, err = req.GetBody(); err != nil {
			return nil, false, err
		}
	}
	roundTripper := e.roundTripper.Clone()
	roundTripper.DisableKeepAlives = true
	client := *e.httpClient
	client.Transport = roundTripper
	answer, err = client.Do(second)
	return answer, true, err
}

// A connectionTrace observes the connection that a request goes over.
type connectionTrace struct{ reused, multiplexed, answered atomic.Bool }

func (c *connectionTrace) withTrace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			secure, ok := i.Conn.(*tls.Conn)
			c.reused.Store(i.Reused)
			c.multiplexed.Store(ok && secure.ConnectionState().NegotiatedProtocol == "h2")
		},
		GotFirstResponseByte: func() { c.answered.Store(true) },
	})
}

// mayHaveBeenIdle reports whether an error may mean that the server closed an idle
// connection. Over HTTP/2 a server names the requests that it did not process, so
// net/http repeats them itself.
func (c *connectionTrace) mayHaveBeenIdle(err error) bool {
	var netErr net.Error
	timeout := errors.As(err, &netErr) && netErr.Timeout()
	return c.reused.Load() && !c.multiplexed.Load() && !c.answered.Load() && !timeout
}
