package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// elicitation are the probes of client/elicitation.
func elicitation() []check.Check { return nil }
