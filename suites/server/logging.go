package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// logging are the probes of server/utilities/logging.
func logging() []check.Check { return nil }
