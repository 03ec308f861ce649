package stdio

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

func clientCopies() []check.Check {
	return []check.Check{{
		ID:    "client.stdio.stdin.pure",
		Says:  "the client writes nothing to the server's stdin but MCP messages, one a line",
		Level: spec.Must,
		In:    spec.Every,
		On:    transport.OnStdio, // HTTP has no standard input
		Rules: []string{"stdio-stdin-only-mcp", "stdio-no-embedded-newlines"},
		Judge: func(j *check.J) { linesPure(j, "stdin") },
	}}
}
