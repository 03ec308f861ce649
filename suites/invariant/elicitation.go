package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// elicitation are the judges of client/elicitation.
func elicitation() []check.Check { return nil }
