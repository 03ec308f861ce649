package ping

import (
	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
)

// probes returns the probes of basic/utilities/ping, which 2026-07-28 removed.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "ping.answered",
			Says:  "the server answers a ping with an empty result",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"ping-respond"},
			Idle:  "no ping was sent",
			Hint:  expect.HintReply,
			// The page shows a ping without params; the schema allows empty params and _meta.
			Probe: func(t *check.T) {
				for _, params := range []check.Params{nil, {}, {"_meta": check.Params{}}} {
					m := t.Request("ping", params)
					match.Expect(t, m).To(match.BeResult(), "ping with params %s", check.MustJSON(params))
					if name := check.MemberBesideMeta(m.Result()); name != "" || !m.Result().IsObject() {
						t.Fail("an empty result", m.Result().Raw, "the result of ping is not an empty object")
					}
					t.Saw()
				}
			},
		},
		{
			ID:      "ping.opening.answered",
			Says:    "the server answers a ping before initialize, and can be opened after it: a client may send one",
			Level:   spec.Robust,
			In:      spec.Handshake,
			On:      transport.OnStdio | transport.OnSSE, // over HTTP no session carries it
			Session: check.UnopenedSession,
			Spec:    "basic/lifecycle#initialization",
			Idle:    "no ping was sent",
			Hint:    expect.HintReply,
			Probe: func(t *check.T) {
				match.Expect(t, t.Request("ping", nil)).To(match.BeResult(), "ping before initialize")
				m := t.Request("initialize", check.InitializeParams(string(t.Rev)))
				match.Expect(t, m).To(match.BeResult(), "initialize after a ping")
				t.Saw()
			},
		},
	}
}
