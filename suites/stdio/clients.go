package stdio

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// clientJudges returns the judges of clients of basic/transports/stdio.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "stdio.client.stdin.pure",
			Says:  "the client writes only MCP messages to the server's stdin, each on a line of its own",
			Level: spec.Must,
			In:    spec.Every,
			On:    transport.OnStdio, // HTTP has no standard input
			Rules: []string{"stdio-stdin-only-mcp", "stdio-no-embedded-newlines"},
			Idle:  "the client wrote nothing to stdin",
			Hint:  "let the client open a session",
			Judge: func(j *check.J) { judgeLines(j, "stdin") },
		},
	}
}
