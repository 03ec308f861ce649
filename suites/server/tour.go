package server

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Tour asks a server for what it offers and uses what manners allow, so that
// judges have something to look at whichever probes were selected. It judges
// nothing itself, and what a probe has asked before is not asked again.
func Tour() check.Check {
	return defaults([]check.Check{{
		ID:    "tour",
		Says:  "what the server offers is looked at",
		Level: spec.Robust,
		In:    spec.Every,
		Probe: tour,
	}})[0]
}

func tour(t *check.T) {
	for _, l := range listings(t) {
		walked(t, l)
	}
	if t.Declares("tools") {
		called(t)
	}
}
