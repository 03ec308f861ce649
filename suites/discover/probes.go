package discover

import (
	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// probes returns the probes of server/discover, since 2026-07-28.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "discover.answered",
			Says:  "the server answers server/discover with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"discover-implemented", "lifecycle-base-required", "stdio-streams"},
			Idle:  "no server/discover was sent",
			Hint:  expect.HintReply,
			// The deprecated features bind new implementations only, and nothing on the wire
			// shows whether a server is new (deprecated#deprecated): they are noted.
			Probe: func(t *check.T) {
				m := t.Request("server/discover", nil)
				if !m.Result().IsObject() {
					t.Fail("a result", m.Summary(), "server/discover was answered with %s", m.Summary())
				}
				t.Saw()
				if t.Declares("logging") {
					t.Note("the server declares logging, which this revision deprecates" +
						" in favour of standard error and OpenTelemetry")
				}
			},
		},
		{
			ID:    "discover.optional",
			Says:  "the server serves a request that is the first on its connection",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{
				"discover-not-prerequisite", "lifecycle-stateless-no-prior-context", "versioning-dual-server-modern",
			},
			Idle: "the server serves no list, whose request every client may send",
			Hint: "declare tools, prompts or resources, and answer their lists",
			// A list that the server serves in the shared session is requested as the first
			// message to another instance.
			Probe: func(t *check.T) {
				method := ""
				for _, c := range []string{"tools", "prompts", "resources"} {
					if t.Declares(c) && t.Request(c+"/list", nil).Kind == wire.Result {
						method = c + "/list"
						break
					}
				}
				if method == "" {
					return
				}
				first := t.Sessions().Unopened()
				defer first.Sessions().CloseLater()
				match.Expect(first, first.Request(method, nil)).To(match.BeResult(),
					"%s is served after server/discover, but not as the first request", method)
				t.Saw()
			},
		},
		{
			ID:    "discover.capabilities",
			Says:  "the server serves completions if it declares them",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"discover-capabilities-accurate"},
			Idle:  "the server does not declare completions",
			Hint:  "declare completions, and answer completion/complete",
			// Other checks judge the lists that are declared. Any answer shows that the
			// method exists, except that it is unknown.
			Probe: func(t *check.T) {
				if !t.Declares("completions") {
					return
				}
				m := t.Request("completion/complete", usage.CompletionParams(offer.UnknownPrompt))
				match.Expect(t, m).NotTo(match.BeError(spec.MethodNotFound),
					"the server declares completions, but does not know completion/complete")
				t.Saw()
			},
		},
	}
}
