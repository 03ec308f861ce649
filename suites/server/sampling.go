package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// sampling are the probes of client/sampling.
func sampling() []check.Check { return nil }
