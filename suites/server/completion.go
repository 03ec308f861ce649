package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// completion are the probes of server/utilities/completion.
func completion() []check.Check { return nil }
