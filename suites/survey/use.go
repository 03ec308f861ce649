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

var configuredUsesKey = check.NewKey[int]("configured uses")

var fewerCapabilitiesKey = check.NewKey[bool]("fewer capabilities")

// UseServer returns a check that lists what the server offers and uses what may be
// used, so that judges have subjects whichever probes are selected. It asserts nothing,
// and it does not repeat what a probe has already requested.
func UseServer() check.Check {
	return check.Servers([]check.Check{{
		ID:    "tour",
		Says:  "what the server offers is listed and used",
		Level: spec.Robust,
		In:    spec.Every,
		Probe: func(t *check.T) {
			for _, l := range offer.Lists(t) {
				offer.WalkOnce(t, l)
			}
			asking.Triggers(t) // before a cancellation: triggers are found among the open requests
			if t.Declares("tools") {
				toolcalls.Calls(t)
				toolcalls.CallWithLevels(t)
				toolcalls.CancelOne(t)
			}
			usage.UseOffer(t)
			check.Once(t, configuredUsesKey, func() int { return usage.UseConfigured(t) })
			changes.CallBesideStream(t)
			changes.RepeatWatched(t)
			check.Once(t, fewerCapabilitiesKey, func() bool { useWithFewerCapabilities(t); return true })
		},
	}})[0]
}

// UseServerWithoutCapabilities returns a check that uses the tools again as a client
// without capabilities, if the server requested something from its client before: it
// must then work without.
func UseServerWithoutCapabilities() check.Check {
	return check.Servers([]check.Check{{
		ID:      "tour.plain",
		Says:    "what the server offers is used by a client without capabilities",
		Level:   spec.Robust,
		In:      spec.Handshake,
		Session: check.NoCapabilities,
		Probe: func(t *check.T) {
			if asking, ok := check.Cached(t, asking.TriggersKey); ok && len(asking) > 0 {
				toolcalls.CallUnwatched(t)
			}
		},
	}})[0]
}
