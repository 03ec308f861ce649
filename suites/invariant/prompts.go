package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// prompts are the judges of server/prompts.
func prompts() []check.Check { return nil }
