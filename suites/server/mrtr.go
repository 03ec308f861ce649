package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// mrtr are the probes of basic/patterns/mrtr.
func mrtr() []check.Check { return nil }
