package server

import (
	"context"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An Object is a JSON object. Numbers that came over the wire are json.Number,
// so that they go out again as they came in.
type Object = map[string]any

// A Handler makes the result of a request, an Object where the server is
// honest, or an error. It returns when the answer is due; ctx ends when the
// client cancels the request or the server stops.
type Handler func(ctx context.Context, r *Request) (any, *Error)

// A FrameSink takes one outgoing message. It may not send by itself other than
// through the sink that it wraps.
type FrameSink func(f Frame)

// A Receiver takes one incoming line without its newline, over HTTP the body of
// one POST. An error ends the server, over HTTP the session.
type Receiver func(line []byte) error

// A Frame is one outgoing message.
type Frame struct {
	Raw     []byte    // as it is written, without the newline
	Kind    wire.Kind // what it is under JSON-RPC
	Method  string    // of a request or notification; of the request that a response answers
	Request *Request  // the request that it answers or belongs to, or nil
	Cancels string    // method of the server's own request that a cancellation takes back

	exchange *exchange // the POST that it belongs to where no Request tells, or nil
}

// post returns the POST that the frame belongs to; nil for one that
// belongs to none, and on stdio.
func (f Frame) postExchange() *exchange {
	if f.exchange == nil && f.Request != nil {
		return f.Request.exchange
	}
	return f.exchange
}

// An Error is a JSON-RPC error object.
type Error struct {
	Code    int
	Message string
	Data    any // nil: no data member
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func newError(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func invalidParams(format string, args ...any) *Error {
	return newError(spec.InvalidParams, format, args...)
}

// A Request is one request of the client.
type Request struct {
	ID     wire.ID
	Method string
	Params Object // never nil
	// Revision governs the request: the one its _meta names the era of, else
	// the one negotiated by initialize, "" before that.
	Revision spec.Revision
	// Modern tells whether it is served statelessly by its own _meta
	// (basic/versioning#backward-compatibility-with-initialization-based-versions).
	Modern bool
	// Client is what the client said of itself: in this request, or in
	// initialize. It is known once the request was admitted.
	Client Peer
	// Session is the handshake session of the connection, opened or not.
	Session *Session

	conn *conn
	job  *job
	task *task // that the request goes on as, or nil
	// answers are those of the client to what was asked before the request
	// became a task, or nil.
	answers map[string]Object
	after   func() // to do once the request was answered, or nil
	// exchange is the POST that the request came in; nil on stdio, and for
	// what the server does of itself.
	exchange *exchange
	status   int // of HTTP, that an error of the request goes with; 0 for the usual one
}

// A Peer is what a client declared.
type Peer struct {
	Capabilities Object
	LogLevel     string // of this request, "" for none (stateless revisions)
}

// Declares tells whether the capability, a member name, was declared.
func (p Peer) Declares(capability string) bool {
	_, ok := p.Capabilities[capability].(Object)
	return ok
}

// Park tells that the request is about to wait. Until then, or until it was
// answered, the next message is not taken up: requests that need not wait are
// answered in the order in which they came.
func (r *Request) Park() { r.job.yield() }

// Send sends a frame as it is, unless the request that it names was cancelled.
func (r *Request) Send(f Frame) {
	if f.exchange == nil {
		f.exchange = r.exchange
	}
	r.conn.send(f)
}

// Notify sends a notification that belongs to the request. After the request
// was cancelled it sends nothing (basic/transports/stdio#cancellation). Where
// the request goes on as a task it names the task; one of the extension tells of
// its state alone (SEP-2663, task status notifications).
func (r *Request) Notify(method string, params Object) {
	if r.task != nil && r.task.extended {
		return
	}
	r.Send(Frame{Raw: notificationMessage(method, r.withRelatedTask(params)), Kind: wire.Notification, Method: method, Request: r})
}
