package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// progress are the judges of basic/utilities/progress.
func progress() []check.Check { return nil }
