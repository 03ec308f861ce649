package server

import (
	"context"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Handler makes the result of a request, an Object in the conforming server, or
// an error. It returns when the answer is complete; ctx ends when the client
// cancels the request or the server stops.
type Handler func(ctx context.Context, r *Request) (any, *Error)

// A FrameSink takes one outgoing message. It may send only through the sink that
// it wraps.
type FrameSink func(f Frame)

// A Receiver takes one incoming line without its newline, over HTTP the body of
// one POST. An error ends the server, over HTTP the session.
type Receiver func(line []byte) error

// A Frame is one outgoing message.
type Frame struct {
	Raw     []byte    // the bytes on the wire, without the newline
	Kind    wire.Kind // its kind in JSON-RPC
	Method  string    // of a request or notification; of the request that a response answers
	Request *Request  // the request that it answers or belongs to, or nil
	Cancels string    // the method of the server's own request that a cancellation names

	exchange *exchange // the POST that it belongs to if Request is nil, or nil
}

// postExchange returns the POST that the frame belongs to; nil for a frame of no
// POST, and on stdio.
func (f Frame) postExchange() *exchange {
	if f.exchange == nil && f.Request != nil {
		return f.Request.exchange
	}
	return f.exchange
}

// wrapped returns the conforming part, decorated if there is a decorator.
func wrapped[T any](conforming T, decorate func(next T) T) T {
	if decorate == nil {
		return conforming
	}
	return decorate(conforming)
}
