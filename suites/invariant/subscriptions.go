package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// subscriptions are the judges of basic/patterns/subscriptions.
func subscriptions() []check.Check { return nil }
