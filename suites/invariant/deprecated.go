package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// deprecated are the judges of the registry of deprecated features.
func deprecated() []check.Check { return nil }
