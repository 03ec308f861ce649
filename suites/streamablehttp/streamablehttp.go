// Package streamablehttp checks basic/transports/streamable-http.
package streamablehttp

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	return check.Servers(endpointProbes(), originProbes(), answerProbes(), versionProbes(), streamProbes(), statelessProbes(), sessionProbes(), acceptanceJudges(), streamJudges(), statelessJudges())
}
