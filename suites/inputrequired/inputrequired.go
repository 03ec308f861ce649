// Package inputrequired checks basic/patterns/mrtr: results that ask for input.
package inputrequired

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	return check.Servers(probes(), judges())
}
