package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// deprecated are the probes of the registry of deprecated features.
func deprecated() []check.Check { return nil }
