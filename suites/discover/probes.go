package discover

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// probes are the probes of server/discover, since 2026-07-28.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "discover.answered",
			Says:  "server/discover is answered with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"discover-implemented", "lifecycle-base-required", "stdio-streams"},
			Probe: func(t *check.T) {
				m := t.Request("server/discover", nil)
				if !m.Result().IsObject() {
					t.Fail("a result", m.Summary(), "server/discover was answered with %s", m.Summary())
				}
				noteDeprecated(t)
			},
		},
		{
			ID:    "discover.optional",
			Says:  "a request is served though it is the first on its connection",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"discover-not-prerequisite", "lifecycle-stateless-no-prior-context", "versioning-dual-server-modern"},
			// discoverOptional sends the request that is served in the shared session as
			// the first one of another instance.
			Probe: func(t *check.T) {
				method := ""
				for _, c := range []string{"tools", "prompts", "resources"} {
					if t.Declares(c) && t.Request(c+"/list", nil).Kind == wire.Result {
						method = c + "/list"
						break
					}
				}
				if method == "" {
					t.NotObserved("the server serves no request but server/discover that anyone may send", "")
				}
				at := t.Sessions().Unopened()
				defer at.Sessions().Leave()
				if m := at.Request(method, nil); m.Kind != wire.Result {
					at.Fail("a result", m.Summary(), "%s is served after server/discover, but as the first request it was answered with %s", method, m.Summary())
				}
			},
		},
		{
			ID:    "discover.capabilities",
			Says:  "completions that are declared are served",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"discover-capabilities-accurate"},
			// discoverCapabilities judges completions alone: that declared lists are served
			// is a rule of each page, and the other methods need to know what the server
			// holds. Any answer but that the method is unknown shows that it is there.
			Probe: func(t *check.T) {
				if !t.Declares("completions") {
					t.NotObserved("the server does not declare completions", "")
				}
				m := t.Request("completion/complete", usage.CompletionParams(offer.UnknownPrompt))
				if code, _ := m.Code(); code == spec.MethodNotFound {
					t.Fail("another answer", m.Summary(), "the server declares completions, and answers completion/complete with %s", m.Summary())
				}
			},
		},
	}
}
