package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// sampling are the judges of client/sampling.
func sampling() []check.Check { return nil }
