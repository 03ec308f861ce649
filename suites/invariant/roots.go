package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// roots are the judges of client/roots.
func roots() []check.Check { return nil }
