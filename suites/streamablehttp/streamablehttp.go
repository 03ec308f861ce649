// Package streamablehttp checks basic/transports/streamable-http. Its event streams
// are checked by package streams.
package streamablehttp

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/streamablehttp/streams"
)

// Checks returns the probes and judges of servers.
func Checks() []check.Check {
	return slices.Concat(
		check.Servers(endpointProbes(), originProbes(), answerProbes(), fieldProbes(), messageProbes()),
		check.Servers(versionProbes(), requiredSessionProbes()),
		streams.Checks(),
		check.Servers(statelessProbes(), sessionProbes(), endedSessionProbes(), unknownSessionProbes()),
		check.Servers(judges(), statelessJudges()),
	)
}
