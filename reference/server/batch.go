package server

import (
	"bytes"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// handleBatch handles an array of messages. Only 2025-03-26 has them
// (basic/index#batching), with the rules of JSON-RPC 2.0 section 6: one array of
// the responses, none for notifications, a single error for an empty array, and an
// error without id for each element that is no request. In the other revisions the
// array as a whole is no valid request. reply is called exactly once, with the
// array or an empty frame.
func (c *conn) handleBatch(m wire.Message, x *exchange, reply func(Frame)) {
	refuse := func(element wire.Message, why string) Frame {
		return errorFrame(c.errorResponse(element, newError(spec.InvalidRequest, "%s", why)))
	}
	elements := m.Elements()
	switch {
	case m.SyntaxError != nil || !c.session.Revision().Facts().Batches:
		reply(refuse(wire.Message{}, "A message is an object, not an array"))
		return
	case len(elements) == 0:
		reply(refuse(wire.Message{}, "The batch is empty"))
		return
	}
	var (
		mu        sync.Mutex
		responses [][]byte
		open      = len(elements)
	)
	collect := func(f Frame) {
		mu.Lock()
		defer mu.Unlock()
		if f.Raw != nil {
			responses = append(responses, f.Raw)
		}
		if open--; open > 0 {
			return
		}
		if len(responses) == 0 {
			reply(Frame{})
			return
		}
		reply(Frame{Raw: joinBatch(responses), Kind: wire.Batch})
	}
	for _, e := range elements {
		switch {
		case e.Kind == wire.Batch:
			collect(refuse(wire.Message{}, "A batch holds no batches"))
		case e.Kind == wire.Request && e.Method() == "initialize":
			// basic/lifecycle#initialization: never part of a batch.
			collect(refuse(e, "The initialize request is not part of a batch"))
		default:
			c.dispatch(e, x, collect)
		}
	}
}

func joinBatch(responses [][]byte) []byte {
	b := append([]byte("["), bytes.Join(responses, []byte(","))...)
	return append(b, ']')
}
