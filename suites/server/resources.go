package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// resources are the probes of server/resources.
func resources() []check.Check { return nil }
