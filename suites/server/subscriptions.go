package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// subscriptions are the probes of basic/patterns/subscriptions.
func subscriptions() []check.Check { return nil }
