// Package streamablehttp checks basic/transports/streamable-http. Its event streams
// are checked by package streams.
package streamablehttp

import (
	"cmp"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/streamablehttp/streams"
)

// sessionHint is the hint of the checks of sessions.
const sessionHint = "open sessions with Mcp-Session-Id, and let clients end them by DELETE"

// Checks returns the probes and judges of servers.
func Checks() []check.Check {
	return slices.Concat(
		withHint(expect.HintReply, endpointProbes(), originProbes(), answerProbes(), fieldProbes(), messageProbes()),
		withHint(expect.HintReply, versionProbes()),
		withHint(sessionHint, requiredSessionProbes()),
		streams.Checks(),
		withHint(expect.HintReply, statelessProbes()),
		withHint(sessionHint, sessionProbes(), endedSessionProbes(), unknownSessionProbes()),
		withHint(expect.HintReply, judges(), statelessJudges()),
	)
}

// withHint joins lists of checks of servers and gives the hint to those that have none.
func withHint(hint string, lists ...[]check.Check) []check.Check {
	all := check.Servers(lists...)
	for i := range all {
		all[i].Hint = cmp.Or(all[i].Hint, hint)
	}
	return all
}
