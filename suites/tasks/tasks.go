// Package tasks checks basic/utilities/tasks.
package tasks

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers.
func Checks() []check.Check {
	return check.Servers(probes(), judges(), survivalJudges())
}
