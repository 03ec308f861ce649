// Package stdio checks basic/transports/stdio.
package stdio

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	return append(check.Servers(probes(), judges()), check.Clients(clientJudges())...)
}
