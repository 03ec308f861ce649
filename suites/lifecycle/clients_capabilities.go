package lifecycle

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// clientCapabilityJudges are the judges of basic/lifecycle#operation and
// architecture/index#capability-negotiation.
func clientCapabilityJudges() []check.Check {
	return []check.Check{
		{
			ID:    "client.capabilities.negotiated",
			Says:  "the client asks only for features that the server declared",
			Level: spec.Must,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"lifecycle-only-negotiated-capabilities"},
			Judge: func(j *check.J) { negotiated(j) },
		},
		{
			ID:    "client.capabilities.negotiated.advised",
			Says:  "the client asks only for features that the server declared",
			Level: spec.Should,
			In:    spec.Until(spec.V2025_03_26) | spec.Stateless,
			Rules: []string{"lifecycle-only-negotiated-capabilities", "tools-use-requires-capability"},
			Judge: func(j *check.J) { negotiated(j) },
		},
	}
}

// needed is what a server declares to have requests of these methods sent to
// it. Completion has a capability since 2025-03-26 only, and the schema lets a
// server take subscriptions without saying so before; neither is judged.
var needed = []struct{ prefix, capability string }{
	{"tools/", "tools"},
	{"prompts/", "prompts"},
	{"resources/", "resources"},
	{"logging/", "logging"},
}

// negotiated judges requests from the answer on that declared the server's
// capabilities: in the stateless era a client need not ask for them.
func negotiated(j *check.J) {
	declared := false
	for _, e := range j.Entries() {
		for _, m := range e.Message.Elements() {
			if e.From == wire.Server {
				declared = declared || m.Kind == wire.Result && m.Result().Get("capabilities").IsObject()
				continue
			}
			if !declared || m.Kind != wire.Request {
				continue
			}
			for _, n := range needed {
				if !strings.HasPrefix(m.Method(), n.prefix) {
					continue
				}
				if !j.Declares(wire.Server, n.capability) {
					j.Fail(e, "the client asked for %s of a server that does not declare %s", m.Method(), n.capability)
					continue
				}
				j.Saw()
			}
		}
	}
}
