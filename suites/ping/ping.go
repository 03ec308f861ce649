// Package ping checks basic/utilities/ping.
package ping

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	return append(check.Servers(probes(), judges(), survivalJudges()),
		check.Clients(check.WholeSessions(clientJudges()))...)
}
