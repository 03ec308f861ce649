// Package schema checks schema.ts: the shape of messages, _meta, content, icons and
// annotations.
package schema

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	servers := check.Servers(metaProbes(), dialectProbes(),
		metaJudges(), iconJudges(), dialectJudges(), contentJudges(), annotationJudges())
	return append(servers, check.Clients(check.WholeSessions(clientJudges()))...)
}
