package check

import (
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Reply is the answer to a request, a result or an error. Err says why none
// came before the deadline; the Entry is zero then.
type Reply struct {
	wire.Entry
	Err error
}

// Succeeded reports whether the reply is a result.
func (r Reply) Succeeded() bool { return r.Err == nil && r.Message.Kind == wire.Result }

// Get returns the frame of the answer and the error.
func (r Reply) Get() (wire.Entry, error) { return r.Entry, r.Err }

// Answer returns the message of the answer; ok is false if there is none.
func (r Reply) Answer() (m wire.Message, ok bool) { return r.Message, r.Err == nil }
