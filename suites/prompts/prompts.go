// Package prompts checks server/prompts.
package prompts

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers.
func Checks() []check.Check {
	return check.Servers(probes(), judges(), survivalJudges())
}
