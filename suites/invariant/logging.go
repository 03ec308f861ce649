package invariant

import "github.com/mcpcheck/mcpcheck/suites/check"

// logging are the judges of server/utilities/logging.
func logging() []check.Check { return nil }
