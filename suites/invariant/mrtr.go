package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// mrtr are the judges of basic/patterns/mrtr.
func mrtr() []check.Check { return nil }
