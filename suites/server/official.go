package server

import "github.com/mcpcheck/mcpcheck/suites/check"

// official are the probes of the public conformance contract, for servers that
// offer its tools, resources and prompts.
func official() []check.Check { return nil }
