package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// resources are the judges of server/resources.
func resources() []check.Check { return nil }
