package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// prompts are the probes of server/prompts.
func prompts() []check.Check { return nil }
