package jsonrpc

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// clientCopies returns the judges of clients whose rules bind both ends. Since
// 2026-07-28 a client sends no responses, so the rules on responses bind it up to
// 2025-11-25.
func clientCopies() []check.Check {
	return check.CopyForClients(slices.Concat(messageJudges(), failureJudges()), []check.ClientCopy{
		{ID: "jsonrpc.message.shape", In: spec.Every},
		{ID: "jsonrpc.version", In: spec.Every},
		{ID: "jsonrpc.utf8", In: spec.Since(spec.V2025_03_26)},
		{ID: "jsonrpc.batch.none", In: spec.Since(spec.V2025_06_18)},
		{ID: "jsonrpc.batch.none.advised", In: spec.Only(spec.V2024_11_05)},
		{ID: "jsonrpc.method.string", In: spec.Every},
		{ID: "jsonrpc.method.reserved", In: spec.Every},
		{ID: "jsonrpc.params.object", In: spec.Every},
		{ID: "jsonrpc.request.id", In: spec.Every, Says: "the id of a request of the client is a string or an integer"},
		{ID: "jsonrpc.request.id.unique", In: spec.Handshake, Says: "no request of the client repeats an id"},
		{ID: "jsonrpc.notification.no-id", In: spec.Every},
		{ID: "jsonrpc.response.id", In: spec.Handshake},
		{ID: "jsonrpc.response.once", In: spec.Handshake},
		{ID: "jsonrpc.response.member", In: spec.Handshake},
		{ID: "jsonrpc.response.not-both", In: spec.Handshake},
		{ID: "jsonrpc.result.object", In: spec.Handshake},
		{ID: "jsonrpc.error.members", In: spec.Handshake},
		{ID: "jsonrpc.error.code.integer", In: spec.Handshake},
		{ID: "jsonrpc.error.message.string", In: spec.Handshake},
		{ID: "jsonrpc.error.message.concise", In: spec.Handshake},
		{ID: "jsonrpc.error.id", In: spec.Handshake},
		{ID: "jsonrpc.code.reserved", In: spec.Handshake},
	})
}
