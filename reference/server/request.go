package server

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An Object is a JSON object. Numbers of received messages are json.Number, so
// that they are sent as they were received.
type Object = map[string]any

// A Request is one request of the client.
type Request struct {
	ID     wire.ID
	Method string
	Params Object // never nil
	// Revision governs the request: in the stateless era the one that its _meta
	// names, else the one that initialize negotiated, "" before that.
	Revision spec.Revision
	// Stateless reports whether the request is served statelessly by its own _meta
	// (basic/versioning#backward-compatibility-with-initialization-based-versions).
	Stateless bool
	// Client is what the client declared, in this request or in initialize. It is
	// set once the preconditions of the request are checked.
	Client Peer
	// Session is the handshake session of the connection, initialized or not.
	Session *Session

	conn *conn
	job  *job
	task *task // the task that the request continues as, or nil
	// answers are the client's answers to the input that was requested before the
	// request became a task, or nil.
	answers map[string]Object
	after   func() // called once the request is answered, or nil
	// exchange is the POST that the request came in; nil on stdio, and for requests
	// that the server makes itself.
	exchange *exchange
	status   int // the HTTP status of an error of the request; 0 for the usual one
}

// A Peer is what a client declared.
type Peer struct {
	Capabilities Object
	LogLevel     string // of this request, "" for none (stateless revisions)
}

// Declares reports whether the client declared a capability, a member name.
func (p Peer) Declares(capability string) bool {
	_, ok := p.Capabilities[capability].(Object)
	return ok
}

// Yield lets the connection handle the next message: the request is about to wait.
// Without it the next message is handled once the request is answered, so that
// requests that do not wait are answered in the order of their arrival.
func (r *Request) Yield() { r.job.yield() }

// Send sends a frame, unless the request that the frame names was cancelled.
func (r *Request) Send(f Frame) {
	if f.exchange == nil {
		f.exchange = r.exchange
	}
	r.conn.send(f)
}

// Notify sends a notification that belongs to the request. After the request was
// cancelled it sends nothing (basic/transports/stdio#cancellation). The
// notification of a request that continues as a task names the task. A task of the
// extension sends only its own state (SEP-2663, task status notifications).
func (r *Request) Notify(method string, params Object) {
	if r.task != nil && r.task.extended {
		return
	}
	f := notificationFrame(method, r.withRelatedTask(params))
	f.Request = r
	r.Send(f)
}
