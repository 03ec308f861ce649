// Package caching checks server/utilities/caching.
package caching

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the judges of servers.
func Checks() []check.Check {
	return check.Servers(judges())
}
