package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// security are the probes of the security considerations.
func security() []check.Check { return nil }
