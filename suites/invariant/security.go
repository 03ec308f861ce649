package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// security are the judges of the security considerations.
func security() []check.Check { return nil }
