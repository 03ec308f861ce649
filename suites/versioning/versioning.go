// Package versioning checks basic/versioning and version negotiation.
package versioning

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	servers := check.Servers(negotiationProbes(), statelessProbes(), judges())
	return append(servers, check.Clients(check.WholeSessions(clientJudges()))...)
}
