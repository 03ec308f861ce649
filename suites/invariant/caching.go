package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// caching are the judges of server/utilities/caching.
func caching() []check.Check { return nil }
