package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// caching are the probes of server/utilities/caching.
func caching() []check.Check { return nil }
