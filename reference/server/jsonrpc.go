package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// nullIDRevisions are the revisions in which an error about a message whose id
// cannot be read has the id null, as JSON-RPC 2.0 section 5 requires. From
// 2025-11-25 on the id is absent, as schema.ts#JSONRPCErrorResponse allows.
var nullIDRevisions = spec.Until(spec.V2025_06_18)

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

// object returns the error as it is on the wire.
func (e *Error) object() Object {
	o := Object{"code": e.Code, "message": e.Message}
	if e.Data != nil {
		o["data"] = e.Data
	}
	return o
}

func resultMessage(id wire.ID, v any) []byte {
	return wire.EncodeBetween(`{"jsonrpc":"2.0","id":`+id.Raw+`,"result":`, v, "}")
}

func errorMessage(id wire.ID, e *Error) []byte {
	o := e.object()
	if !id.IsPresent() {
		return wire.EncodeBetween(`{"jsonrpc":"2.0","error":`, o, "}")
	}
	return wire.EncodeBetween(`{"jsonrpc":"2.0","id":`+id.Raw+`,"error":`, o, "}")
}

func requestMessage(id, method string, params Object) []byte {
	o := Object{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		o["params"] = params
	}
	return wire.Encode(o)
}

// notificationFrame returns the frame of a notification that belongs to no
// request.
func notificationFrame(method string, params Object) Frame {
	o := Object{"jsonrpc": "2.0", "method": method}
	if params != nil {
		o["params"] = params
	}
	return Frame{Raw: wire.Encode(o), Kind: wire.Notification, Method: method}
}

// errorFrame returns the frame of an error about a message that is no request.
func errorFrame(raw []byte) Frame { return Frame{Raw: raw, Kind: wire.Error} }

// errorResponse returns the error about a message that is no valid request. Its id
// is that of the message if that can name a request.
func (c *conn) errorResponse(m wire.Message, e *Error) []byte {
	id := m.ID()
	if !id.IsValid() || slices.Contains(m.DuplicateKeys, "/id") {
		id = wire.ID{}
		if nullIDRevisions.Has(c.errorRevision()) {
			id = wire.ID{Raw: "null"}
		}
	}
	return errorMessage(id, e)
}

// errorRevision returns the revision that errors about malformed messages follow:
// the negotiated one, or the newest that the server speaks.
func (c *conn) errorRevision() spec.Revision {
	if v := c.session.Revision(); v != "" {
		return v
	}
	return c.options.Revisions.Newest()
}

// requestProblem returns why a message is no valid request, or nil. It follows
// JSON-RPC 2.0 section 5.1: -32700 for what is no JSON, -32600 for what is no
// request. An array of params is a request by JSON-RPC, but holds none of the named
// parameters of MCP.
func requestProblem(m wire.Message) *Error {
	if m.SyntaxError != nil {
		return newError(spec.ParseError, "Message %s", m.SyntaxError)
	}
	for _, at := range m.DuplicateKeys {
		if strings.Count(at, "/") == 1 {
			return newError(spec.InvalidRequest, "Member %s occurs twice", at[1:])
		}
	}
	switch {
	case m.EnvelopeError != nil && m.EnvelopeError.Member == "params" && m.Params().IsArray():
		return invalidParams("Params must be an object")
	case m.EnvelopeError != nil:
		return newError(spec.InvalidRequest, "Message %s", m.EnvelopeError)
	case m.Kind == wire.Request && !m.ID().IsValid():
		return newError(spec.InvalidRequest, "The id must be a string or an integer, not %s", wire.Clip(m.ID().Raw, 40))
	}
	return nil
}

// isUnanswerable reports whether a message may not be answered even if it is
// malformed: a notification (JSON-RPC 2.0 section 4.1) or a response.
func isUnanswerable(m wire.Message) bool {
	named := m.EnvelopeError == nil || m.EnvelopeError.Member != "method"
	return m.Kind == wire.Notification && named || m.IsResponse()
}
