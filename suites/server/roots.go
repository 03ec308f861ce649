package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// roots are the probes of client/roots.
func roots() []check.Check { return nil }
