// Package headers checks the headers of basic/transports/streamable-http that repeat
// what a request says in its body, since 2026-07-28.
package headers

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers.
func Checks() []check.Check {
	return check.Servers(probes(), judges())
}
