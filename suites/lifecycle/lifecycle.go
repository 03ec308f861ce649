// Package lifecycle checks basic/lifecycle: initialization, operation and shutdown.
package lifecycle

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	clients := check.WholeSessions(clientOpeningJudges(), clientCapabilityJudges())
	return append(check.Servers(probes(), judges(), survivalJudges()), check.Clients(clients)...)
}
