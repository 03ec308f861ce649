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

// send sends a request. Where it met a kept connection that its server was
// closing, which a server may do at any time (RFC 9112 section 9.6), it is sent
// once more, on a connection of its own: net/http does so for no POST. What a new
// connection came to is never repeated.
func (e *Endpoint) send(req *http.Request) (answer *http.Response, again bool, err error) {
	met := &connection{}
	answer, err = e.client.Do(req.WithContext(met.traced(req.Context())))
	if err == nil || req.Context().Err() != nil || !met.closing(err) {
		return answer, false, err
	}
	second := req.Clone(req.Context())
	if req.GetBody != nil {
		if second.Body, err = req.GetBody(); err != nil {
			return nil, false, err
		}
	}
	pool := e.pool.Clone()
	pool.DisableKeepAlives = true
	own := *e.client
	own.Transport = pool
	answer, err = own.Do(second)
	return answer, true, err
}

// A connection is what is seen of the one that a request went over.
type connection struct{ kept, multiplexed, answered atomic.Bool }

func (c *connection) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			secure, ok := i.Conn.(*tls.Conn)
			c.kept.Store(i.Reused)
			c.multiplexed.Store(ok && secure.ConnectionState().NegotiatedProtocol == "h2")
		},
		GotFirstResponseByte: func() { c.answered.Store(true) },
	})
}

// closing tells whether an error may be that a connection was closed that had
// been idle. Over HTTP/2 a server says which requests it has not looked at.
func (c *connection) closing(err error) bool {
	var late net.Error
	return c.kept.Load() && !c.multiplexed.Load() && !c.answered.Load() && !(errors.As(err, &late) && late.Timeout())
}
