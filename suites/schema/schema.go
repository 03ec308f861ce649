// Package schema checks schema.ts: the shape of messages, _meta, content, icons and annotations.
package schema

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	return append(check.Servers(metaProbes(), dialectProbes(), metaJudges(), iconJudges(), shapeJudges(), contentJudges(), annotationJudges()), check.Clients(check.WholeSessions(clientJudges()))...)
}
