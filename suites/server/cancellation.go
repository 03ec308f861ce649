package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// cancellation are the probes of basic/utilities/cancellation.
func cancellation() []check.Check { return nil }
