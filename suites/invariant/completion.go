package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// completion are the judges of server/utilities/completion.
func completion() []check.Check { return nil }
