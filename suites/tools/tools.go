// Package tools checks server/tools.
package tools

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	return append(check.Servers(listProbes(), callProbes(), toolJudges(), schemaJudges(), resultJudges()), check.Clients(check.WholeSessions(clientJudges()))...)
}
