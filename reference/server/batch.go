package server

import (
	"bytes"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// batch handles an array of messages. Only 2025-03-26 has them
// (basic/index#batching), with the rules of JSON-RPC 2.0 section 6: one array
// of the responses, none for notifications, a single error for an empty
// array, and an error without id for each element that is no request. finally
// is called exactly once, with the array or an empty frame. Elsewhere the array as a whole is no valid request.
func (c *conn) handleBatch(m wire.Message, x *exchange, finally func(Frame)) {
	elements := m.Elements()
	switch {
	case m.Fault != nil || !c.session.Revision().Facts().Batches:
		finally(errorFrame(c.errorResponse(wire.Message{}, newError(spec.InvalidRequest, "A message is an object, not an array"))))
		return
	case len(elements) == 0:
		finally(errorFrame(c.errorResponse(wire.Message{}, newError(spec.InvalidRequest, "The batch is empty"))))
		return
	}
	var (
		mu      sync.Mutex
		replies [][]byte
		open    = len(elements)
	)
	collect := func(f Frame) {
		mu.Lock()
		defer mu.Unlock()
		if f.Raw != nil {
			replies = append(replies, f.Raw)
		}
		if open--; open > 0 {
			return
		}
		if len(replies) == 0 {
			finally(Frame{})
			return
		}
		finally(Frame{Raw: joinBatch(replies), Kind: wire.Batch})
	}
	for _, e := range elements {
		switch {
		case e.Kind == wire.Batch:
			collect(errorFrame(c.errorResponse(wire.Message{}, newError(spec.InvalidRequest, "A batch holds no batches"))))
		case e.Kind == wire.Request && e.Method() == "initialize":
			// basic/lifecycle#initialization: never part of a batch.
			collect(errorFrame(c.errorResponse(e, newError(spec.InvalidRequest, "The initialize request is not part of a batch"))))
		default:
			c.dispatch(e, x, collect)
		}
	}
}

func joinBatch(parts [][]byte) []byte {
	b := append([]byte("["), bytes.Join(parts, []byte(","))...)
	return append(b, ']')
}
