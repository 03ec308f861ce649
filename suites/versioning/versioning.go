// Package versioning checks basic/versioning and version negotiation.
package versioning

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	return append(check.Servers(probes(), judges()), check.Clients(check.WholeSessions(clientJudges()))...)
}
