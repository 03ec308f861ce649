package lifecycle

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// clientCapabilityJudges returns the judges of clients of basic/lifecycle#operation
// and architecture/index#capability-negotiation.
func clientCapabilityJudges() []check.Check {
	negotiated := check.Check{
		ID:    "lifecycle.client.capabilities.negotiated",
		Says:  "the client requests only features that the server declared",
		Level: spec.Must,
		In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
		Rules: []string{"lifecycle-only-negotiated-capabilities"},
		Idle:  "the client requested no feature that a server declares",
		Hint:  "let the client use a feature that the server declares, such as tools",
		// In the stateless era a client need not ask for the capabilities of the server:
		// only requests after an answer that declares them are judged.
		Judge: func(j *check.J) {
			declared := false
			for _, e := range j.Entries() {
				for _, m := range e.Message.Elements() {
					switch {
					case e.From == wire.Server:
						declared = declared || m.Kind == wire.Result && m.Result().Get("capabilities").IsObject()
					case declared && m.Kind == wire.Request:
						judgeCapability(j, e, m)
					}
				}
			}
		},
	}
	advised := negotiated
	advised.ID, advised.Level = "lifecycle.client.capabilities.negotiated.advised", spec.Should
	advised.In = spec.Until(spec.V2025_03_26) | spec.Stateless
	advised.Rules = []string{"lifecycle-only-negotiated-capabilities", "tools-use-requires-capability"}
	return []check.Check{negotiated, advised}
}

// serverCapabilities are the capabilities by which a server accepts the requests whose
// methods have a prefix. Completion has a capability since 2025-03-26 only, and the
// schema lets a server accept subscriptions that it does not declare: neither is
// judged.
var serverCapabilities = []struct{ prefix, capability string }{
	{"tools/", "tools"},
	{"prompts/", "prompts"},
	{"resources/", "resources"},
	{"logging/", "logging"},
}

// judgeCapability judges that the server declared the capability that a request of the
// client needs.
func judgeCapability(j *check.J, e wire.Entry, request wire.Message) {
	for _, c := range serverCapabilities {
		if !strings.HasPrefix(request.Method(), c.prefix) {
			continue
		}
		if !j.Declares(wire.Server, c.capability) {
			j.Fail(e, "the client sent %s, but the server does not declare %s", request.Method(), c.capability)
			continue
		}
		j.Saw()
	}
}
