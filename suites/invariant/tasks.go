package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// tasks are the judges of basic/utilities/tasks.
func tasks() []check.Check { return nil }
