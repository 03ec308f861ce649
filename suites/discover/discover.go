// Package discover checks server/discover.
package discover

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	servers := check.Servers(slices.Concat(probes(), eraProbes()), judges())
	return append(servers, check.Clients(check.WholeSessions(clientJudges()))...)
}
