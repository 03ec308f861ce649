package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// progress are the probes of basic/utilities/progress.
func progress() []check.Check { return nil }
