package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// cancellation are the judges of basic/utilities/cancellation.
func cancellation() []check.Check { return nil }
