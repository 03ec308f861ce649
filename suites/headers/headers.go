// Package headers checks basic/transports/streamable-http#standard-headers: headers that repeat the body.
package headers

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	return check.Servers(probes(), judges())
}
