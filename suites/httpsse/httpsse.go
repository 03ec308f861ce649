// Package httpsse checks basic/transports of 2024-11-05: HTTP with SSE.
package httpsse

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers.
func Checks() []check.Check {
	return check.Servers(probes(), originProbes(), postProbes(), refusalProbes(), judges())
}
