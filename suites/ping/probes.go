package ping

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// probes are the probes of basic/utilities/ping, which 2026-07-28 removed.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "ping.answered",
			Says:  "a ping is answered with an empty result",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"ping-respond"},
			// pingAnswered pings as the page shows it, and with params, which the schema
			// allows.
			Probe: func(t *check.T) {
				for _, params := range []check.Params{nil, {}, {"_meta": check.Params{}}} {
					m := t.Request("ping", params)
					if m.Kind != wire.Result || !m.Result().IsObject() {
						t.Fail("an empty result", m.Summary(), "ping was answered with %s", m.Summary())
					}
					for key := range m.Result().Map() {
						if key != "_meta" {
							t.Fail("an empty result", m.Result().Raw, "the result of ping holds %q", key)
						}
					}
				}
			},
		},
	}
}
