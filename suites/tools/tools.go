// Package tools checks server/tools.
package tools

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	servers := check.Servers(probesOfLists(), probesOfCalls(), judgesOfTools(), judgesOfSchemas(), judgesOfResults(),
		survivalJudges())
	return append(servers, check.Clients(check.WholeSessions(clientJudges()))...)
}
