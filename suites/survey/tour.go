package survey

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/changes"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

var usedAsGivenKey = check.NewKey[int]("used as given")

var sparingKey = check.NewKey[bool]("sparing")

// Tour asks a server for what it offers and uses what manners allow, so that
// judges have something to look at whichever probes were selected. It judges
// nothing itself, and what a probe has asked before is not asked again.
func Tour() check.Check {
	return check.Servers([]check.Check{{
		ID:    "tour",
		Says:  "what the server offers is looked at",
		Level: spec.Robust,
		In:    spec.Every,
		Probe: func(t *check.T) {
			for _, l := range offer.Lists(t) {
				offer.Walked(t, l)
			}
			asking.Askers(t) // before anything is cancelled: what asks is known by what is open
			if t.Declares("tools") {
				toolcalls.Calls(t)
				toolcalls.CallWithLevels(t)
				toolcalls.CancelOne(t)
			}
			usage.Used(t)
			check.Once(t, usedAsGivenKey, func() int { return usage.UseConfigured(t) })
			changes.CallBesideStream(t)
			changes.Rewatch(t)
			check.Once(t, sparingKey, func() bool { sparingTour(t); return true })
		},
	}})[0]
}

// PlainTour uses the tools again as a client that declares no capability, where
// the server was seen to ask its client for something: then it has to do
// without.
func PlainTour() check.Check {
	return check.Servers([]check.Check{{
		ID:      "tour.plain",
		Says:    "what the server offers is looked at by a client without capabilities",
		Level:   spec.Robust,
		In:      spec.Handshake,
		Session: check.NoCapabilities,
		Probe: func(t *check.T) {
			if asking, ok := check.Known(t, asking.AskersKey); ok && len(asking) > 0 {
				toolcalls.CallUnwatched(t)
			}
		},
	}})[0]
}
