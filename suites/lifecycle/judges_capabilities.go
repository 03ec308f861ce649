package lifecycle

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// capabilityJudges returns the judges of what the server declares, and of what it
// requests of a client that declares less.
func capabilityJudges() []check.Check {
	return []check.Check{
		{
			ID:    "lifecycle.capabilities.types",
			Says:  "the capabilities that the server declares are objects, and their flags are booleans",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"lifecycle-server-capabilities-types"},
			Idle:  "the server declared no capabilities",
			Hint:  "declare a capability, such as tools",
			Judge: func(j *check.J) {
				check.Each(j, transcript.ResultsOf(j, transcript.OpeningMethod(j)), func(e wire.Entry) bool {
					capabilities := e.Message.Result().Get("capabilities")
					if !capabilities.IsObject() {
						return false // lifecycle.initialize.result and discover.result judge it
					}
					for _, v := range schema.For(j.Rev).Validate("ServerCapabilities", []byte(capabilities.Raw)) {
						if !judgedElsewhere(v) {
							j.Fail(e, "capabilities: %v", v)
							break
						}
					}
					return len(capabilities.Map()) > 0
				})
			},
		},
		{
			ID: "lifecycle.capabilities.client-only",
			Says: "the server declares no capability that the schema defines for clients alone, such as sampling:" +
				" it has no effect, and misleads about what the server offers",
			Level: spec.Robust,
			In:    spec.Every,
			Spec:  "schema.ts#ServerCapabilities",
			Idle:  "the server declared no capabilities",
			Hint:  "give an object capabilities in the result of the opening",
			// The set of capabilities is open, so that no clause forbids a further one.
			Judge: func(j *check.J) {
				check.Each(j, transcript.ResultsOf(j, transcript.OpeningMethod(j)), func(e wire.Entry) bool {
					capabilities := e.Message.Result().Get("capabilities")
					for _, name := range []string{"roots", "sampling", "elicitation"} {
						if capabilities.Get(name).Exists() {
							j.Fail(e, "the server declares %s, a capability of clients", name)
						}
					}
					return capabilities.IsObject()
				})
			},
		},
		undeclaredJudge(),
		advisedUndeclaredJudge(),
		{
			ID:    "lifecycle.input.declared",
			Says:  "a result asks for no input whose capability its own request did not declare",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{
				"lifecycle-undeclared-capability-not-relied", "lifecycle-stateless-capabilities-not-inherited",
				"mrtr-undeclared-capability-forbidden", "sampling-requires-client-capability",
				"elicitation-requires-client-capability",
			},
			Idle: "no request that may ask for input was answered with a result",
			Hint: "offer a resource that can be read, a prompt or a read-only tool",
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if e.Message.Kind != wire.Result {
						return false
					}
					r, ok := j.RequestOf(e)
					if !ok || !transcript.MayRequestInput(r.Message.Method()) {
						return false
					}
					declared := transcript.MetaMember(r.Message, spec.MetaClientCapabilities)
					e.Message.Result().Get("inputRequests").ForEach(func(_, ask gjson.Result) bool {
						if c := transcript.CapabilityFor(ask.Get("method").String()); c != "" &&
							!declared.Get(c).Exists() {
							j.Fail(e, "the result asks for %s, but the request did not declare %s", ask.Get("method"),
								c)
						}
						return true
					})
					return true
				})
			},
		},
		{
			ID:    "lifecycle.capabilities.required.data",
			Says:  "error -32021 names the capabilities that are missing, as a client would declare them",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-missing-capability-data"},
			Idle:  "no request was answered with error -32021",
			Hint: "offer a read-only tool that refuses a client without a capability with error -32021" +
				check.OrAllow,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if code, _ := e.Message.ErrorCode(); code != spec.MissingClientCapability {
						return false
					}
					required := e.Message.Error().Get("data.requiredCapabilities")
					if !required.IsObject() || len(required.Map()) == 0 {
						j.Fail(e, "data.requiredCapabilities of error -32021 is %s, not an object with capabilities",
							wire.Clip(required.Raw, 60))
						return true
					}
					judgeDefinition(j, e, "data.requiredCapabilities", "ClientCapabilities", required)
					return true
				})
			},
		},
	}
}

// advisedUndeclaredJudge returns the judge of the revisions in which the rule is a SHOULD
// and elicitation does not exist.
func advisedUndeclaredJudge() check.Check {
	c := check.Advised(undeclaredJudge(), spec.Until(spec.V2025_03_26))
	c.Rules = []string{
		"lifecycle-only-negotiated-capabilities", "sampling-requires-client-capability",
		"roots-server-checks-capability",
	}
	return c
}

// undeclaredJudge returns the judge of requests that need an undeclared capability.
func undeclaredJudge() check.Check {
	return check.Check{
		ID:    "lifecycle.capabilities.undeclared",
		Says:  "the server sends no request that needs a client capability which was not declared",
		Level: spec.Must,
		In:    spec.Handshake & spec.Since(spec.V2025_06_18),
		Rules: []string{
			"lifecycle-only-negotiated-capabilities", "sampling-requires-client-capability",
			"elicitation-requires-client-capability",
		},
		Idle: "the server answered no request after initialize of a client that lacks a capability",
		Hint: expect.HintReply,
		// lifecycle.opening.first judges requests before the answer to initialize. After
		// it, each answer is an occasion on which the server kept the rule, if there is a
		// request that it must not send. jsonrpc.methods.revision judges elicitation where
		// the revision does not have it.
		Judge: func(j *check.J) {
			open := false
			lacks := !j.Declares(wire.Client, "roots") || !j.Declares(wire.Client, "sampling") ||
				j.Facts.Elicitation && !j.Declares(wire.Client, "elicitation")
			for _, e := range j.Sent() {
				switch m := e.Message; {
				case m.Kind == wire.Result && !open:
					r, ok := j.RequestOf(e)
					open = ok && r.Message.Method() == "initialize"
				case m.Kind == wire.Request && open:
					c := transcript.CapabilityFor(m.Method())
					exists := c != "elicitation" || j.Facts.Elicitation
					if c != "" && exists && !j.Declares(wire.Client, c) {
						j.Fail(e, "the server sends %s, but the client did not declare %s", m.Method(), c)
					}
				case m.IsResponse() && open && lacks:
					j.Saw()
				}
			}
		},
	}
}

// judgedElsewhere reports whether another check judges a place of the capabilities:
// versioning.extensions.settings the entries of extensions, and tasks.capability.shape
// the members of tasks.
func judgedElsewhere(v schema.Violation) bool {
	return strings.HasPrefix(v.InstancePath, "/extensions/") ||
		transcript.PointerMatches(v.Pointer(), []string{"/tasks/**"})
}
