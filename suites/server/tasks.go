package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// tasks are the probes of basic/utilities/tasks.
func tasks() []check.Check { return nil }
