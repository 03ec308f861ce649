package jsonrpc

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// What makes a client show what the copies judge.
const (
	sendMessages    = "let the client open a session and send a request"
	sendInitialized = "let the client send a notification, such as notifications/initialized"
	answerRequests  = "let the client stay connected and answer a request of the server"
	refuseRequest   = "let the client stay connected and refuse a request of the server with an error"
)

// clientCopies returns the judges of clients whose rules bind both ends. Since
// 2026-07-28 a client sends no responses, so the rules on responses bind it up to
// 2025-11-25.
func clientCopies() []check.Check {
	return check.CopyForClients(slices.Concat(messageJudges(), failureJudges()), []check.ClientCopy{
		{ID: "jsonrpc.message.shape", In: spec.Every, Hint: sendMessages},
		{ID: "jsonrpc.version", In: spec.Every, Hint: sendMessages},
		{ID: "jsonrpc.utf8", In: spec.Since(spec.V2025_03_26), Hint: sendMessages},
		{ID: "jsonrpc.batch.none", In: spec.Since(spec.V2025_06_18), Hint: sendMessages},
		{ID: "jsonrpc.batch.none.advised", In: spec.Only(spec.V2024_11_05), Hint: sendMessages},
		{ID: "jsonrpc.method.string", In: spec.Every, Hint: sendMessages},
		{ID: "jsonrpc.method.reserved", In: spec.Every, Hint: sendMessages},
		{ID: "jsonrpc.params.object", In: spec.Every, Hint: sendMessages},
		{
			ID: "jsonrpc.request.id", In: spec.Every,
			Says: "the id of a request of the client is a string or an integer", Hint: sendMessages,
		},
		{
			ID: "jsonrpc.request.id.unique", In: spec.Handshake,
			Says: "no request of the client repeats an id", Hint: sendMessages,
		},
		{ID: "jsonrpc.notification.no-id", In: spec.Every, Hint: sendInitialized},
		{ID: "jsonrpc.response.id", In: spec.Handshake, Hint: answerRequests},
		{ID: "jsonrpc.response.once", In: spec.Handshake, Hint: answerRequests},
		{ID: "jsonrpc.response.member", In: spec.Handshake, Hint: answerRequests},
		{ID: "jsonrpc.response.not-both", In: spec.Handshake, Hint: answerRequests},
		{ID: "jsonrpc.result.object", In: spec.Handshake, Hint: answerRequests},
		{ID: "jsonrpc.error.members", In: spec.Handshake, Hint: refuseRequest},
		{ID: "jsonrpc.error.code.integer", In: spec.Handshake, Hint: refuseRequest},
		{ID: "jsonrpc.error.message.string", In: spec.Handshake, Hint: refuseRequest},
		{ID: "jsonrpc.error.message.concise", In: spec.Handshake, Hint: refuseRequest},
		{ID: "jsonrpc.error.id", In: spec.Handshake, Hint: refuseRequest},
		{ID: "jsonrpc.code.reserved", In: spec.Handshake, Hint: refuseRequest},
	})
}
