package invariant

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// clients are the judges of clients whose rules bind both ends: those of
// servers, over what the client sent. Since 2026-07-28 a client sends no
// responses, so that the rules on them bind it up to 2025-11-25.
func clients(servers []check.Check) []check.Check {
	var out []check.Check
	for _, t := range []struct {
		id   string
		in   spec.Set
		says string // where the words of the server's do not fit
	}{
		{"jsonrpc.message.shape", spec.Every, ""},
		{"jsonrpc.version", spec.Every, ""},
		{"jsonrpc.utf8", spec.Since(spec.V2025_03_26), ""},
		{"jsonrpc.batch.none", spec.Since(spec.V2025_06_18), ""},
		{"jsonrpc.batch.none.advised", spec.Only(spec.V2024_11_05), ""},
		{"batching.element.kinds", spec.Only(spec.V2025_03_26), ""},
		{"jsonrpc.method.string", spec.Every, ""},
		{"jsonrpc.method.reserved", spec.Every, ""},
		{"jsonrpc.params.object", spec.Every, ""},
		{"jsonrpc.request.id", spec.Every, "the id of a request is a string or an integer"},
		{"jsonrpc.request.id.unique", spec.Handshake, "no request repeats an id"},
		{"jsonrpc.notification.no-id", spec.Every, ""},
		{"jsonrpc.response.id", spec.Handshake, ""},
		{"jsonrpc.response.once", spec.Handshake, ""},
		{"jsonrpc.response.member", spec.Handshake, ""},
		{"jsonrpc.response.not-both", spec.Handshake, ""},
		{"jsonrpc.result.object", spec.Handshake, ""},
		{"jsonrpc.error.members", spec.Handshake, ""},
		{"jsonrpc.error.code.integer", spec.Handshake, ""},
		{"jsonrpc.error.message.string", spec.Handshake, ""},
		{"jsonrpc.error.message.concise", spec.Handshake, ""},
		{"jsonrpc.error.id", spec.Handshake, ""},
		{"jsonrpc.code.reserved", spec.Handshake, ""},
	} {
		at := slices.IndexFunc(servers, func(c check.Check) bool { return c.ID == t.id })
		c := servers[at] // a name that is none shows in every test
		c.ID, c.Of, c.In = "client."+c.ID, wire.Client, t.in
		if t.says != "" {
			c.Says = t.says
		}
		out = append(out, c)
	}
	return append(out, check.Check{
		ID:    "client.stdio.stdin.pure",
		Says:  "the client writes nothing to the server's stdin but MCP messages, one a line",
		Level: spec.Must,
		In:    spec.Every,
		On:    transport.OnStdio, // HTTP has no standard input
		Of:    wire.Client,
		Rules: []string{"stdio-stdin-only-mcp", "stdio-no-embedded-newlines"},
		Judge: linesPure("stdin"),
	})
}
