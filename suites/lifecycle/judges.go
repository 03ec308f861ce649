package lifecycle

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of basic/lifecycle, and of what basic/index#_meta
// says since 2026-07-28 of identity and capabilities.
func judges() []check.Check {
	undeclared := check.Check{
		ID:    "lifecycle.capabilities.undeclared",
		Says:  "the server sends no request that needs a client capability which was not declared",
		Level: spec.Must,
		In:    spec.Handshake & spec.Since(spec.V2025_06_18),
		Rules: []string{"lifecycle-only-negotiated-capabilities", "sampling-requires-client-capability", "elicitation-requires-client-capability"},
		// undeclaredRequests looks at the operation phase: what comes before it is
		// judged with the opening. Each answer of the server then is an occasion on
		// which it did without.
		Judge: func(j *check.J) {
			open := false
			for _, e := range j.Sent() {
				switch m := e.Message; {
				case m.Kind == wire.Result && !open:
					r, ok := j.RequestOf(e)
					open = ok && r.Message.Method() == "initialize"
				case m.Kind == wire.Request && open:
					if c := transcript.CapabilityFor(m.Method()); c != "" && !j.Declares(wire.Client, c) {
						j.Fail(e, "the server sends %s, but the client did not declare %s", m.Method(), c)
					}
				case m.IsResponse() && open:
					j.Saw()
				}
			}
		},
	}
	advised := undeclared
	advised.ID, advised.Level, advised.In = "lifecycle.capabilities.undeclared.advised", spec.Should, spec.Until(spec.V2025_03_26)
	advised.Rules = []string{"lifecycle-only-negotiated-capabilities", "sampling-requires-client-capability", "roots-server-checks-capability"}
	return []check.Check{
		{
			ID:    "lifecycle.opening.first",
			Says:  "before its answer to initialize the server sends nothing but pings and log messages",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-initialize-first"},
			// openingFirst looks at sessions in which initialize was sent. Progress may
			// tell of the work on initialize.
			Judge: func(j *check.J) {
				asked := slices.ContainsFunc(j.Received(), func(e wire.Entry) bool { return e.Message.Method() == "initialize" })
				if !asked {
					return
				}
				for _, e := range j.Sent() {
					switch m := e.Message; m.Kind {
					case wire.Result:
						if r, ok := j.RequestOf(e); ok && r.Message.Method() == "initialize" {
							j.Saw()
							return
						}
					case wire.Request:
						if m.Method() != "ping" {
							j.Fail(e, "the request %s came before the answer to initialize", m.Method())
						}
					case wire.Notification:
						if m.Method() != "notifications/message" && m.Method() != "notifications/progress" {
							j.Fail(e, "the notification %s came before the answer to initialize", m.Method())
						}
					}
				}
			},
		},
		{
			ID:    "lifecycle.initialize.result",
			Says:  "the result of initialize has protocolVersion, capabilities and serverInfo, each of its type",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-server-initialize-response", "lifecycle-initialize-result-types"},
			// initializeResult judges the members themselves; what is in capabilities and
			// serverInfo is judged apart.
			Judge: func(j *check.J) {
				for _, e := range transcript.ResultsOf(j, "initialize") {
					r := e.Message.Result()
					switch {
					case !r.IsObject(): // has a rule of its own
					case r.Get("protocolVersion").Type != gjson.String:
						j.Fail(e, "protocolVersion is %s, not a string", wire.TypeName(r.Get("protocolVersion")))
					case !r.Get("capabilities").IsObject():
						j.Fail(e, "capabilities is %s, not an object", wire.TypeName(r.Get("capabilities")))
					case !r.Get("serverInfo").IsObject():
						j.Fail(e, "serverInfo is %s, not an object", wire.TypeName(r.Get("serverInfo")))
					case r.Get("instructions").Exists() && r.Get("instructions").Type != gjson.String:
						j.Fail(e, "instructions is %s, not a string", wire.TypeName(r.Get("instructions")))
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "lifecycle.server-info.fields",
			Says:  "serverInfo has a name and a version, and its other members are of their types",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"lifecycle-implementation-fields"},
			Judge: func(j *check.J) {
				results := transcript.ResultsOf(j, "initialize")
				if j.Facts.Stateless {
					results = transcript.Filter(j.Sent(), func(e wire.Entry) bool { return e.Message.Kind == wire.Result })
				}
				for _, e := range results {
					info := identity(j, e)
					if !info.Exists() || !j.Facts.Stateless && !info.IsObject() {
						continue // has a rule of its own
					}
					fits(j, e, "serverInfo", "Implementation", info)
				}
			},
		},
		{
			ID:    "lifecycle.server-info.present",
			Says:  "every result carries the identity of the server in its _meta",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-server-info-meta", "discover-server-info"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					switch {
					case e.Message.Kind != wire.Result || e.Message.Flaw() != nil || !e.Message.Result().IsObject():
					case !identity(j, e).Exists():
						j.Fail(e, "the result has no %s in its _meta", spec.MetaServerInfo)
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "lifecycle.capabilities.types",
			Says:  "declared capabilities are objects, and their flags are booleans",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"lifecycle-server-capabilities-types"},
			// capabilityTypes leaves the entries of extensions to versioning.extensions,
			// and tasks to tasks.capability.shape.
			Judge: func(j *check.J) {
				for _, e := range transcript.ResultsOf(j, transcript.OpeningMethod(j)) {
					capabilities := e.Message.Result().Get("capabilities")
					if !capabilities.IsObject() {
						continue // has a rule of its own
					}
					broken := slices.DeleteFunc(schema.For(j.Rev).Validate("ServerCapabilities", []byte(capabilities.Raw)), func(v schema.Violation) bool {
						return strings.HasPrefix(v.InstancePath, "/extensions/") || transcript.PointerMatches(v.Place(), []string{"/tasks/**"})
					})
					if len(broken) > 0 {
						j.Fail(e, "capabilities: %v", broken[0])
						continue
					}
					j.Saw()
				}
			},
		},
		undeclared,
		advised,
		{
			ID:    "lifecycle.input.declared",
			Says:  "a result asks for no input whose capability the request itself did not declare",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{
				"lifecycle-undeclared-capability-not-relied", "lifecycle-stateless-capabilities-not-inherited",
				"mrtr-undeclared-capability-forbidden", "sampling-requires-client-capability", "elicitation-requires-client-capability",
			},
			// inputDeclared holds what a result asks for against its own request.
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					if e.Message.Kind != wire.Result {
						continue
					}
					r, ok := j.RequestOf(e)
					if !ok || !slices.Contains([]string{"tools/call", "prompts/get", "resources/read"}, r.Message.Method()) {
						continue
					}
					declared := wire.Member(r.Message.Params().Get("_meta"), spec.MetaClientCapabilities)
					e.Message.Result().Get("inputRequests").ForEach(func(_, ask gjson.Result) bool {
						if c := transcript.CapabilityFor(ask.Get("method").String()); c != "" && !declared.Get(c).Exists() {
							j.Fail(e, "the result asks for %s, but the request did not declare %s", ask.Get("method"), c)
						}
						return true
					})
					j.Saw()
				}
			},
		},
		{
			ID:    "lifecycle.capabilities.required.data",
			Says:  "error -32021 names the capabilities that are missing, as a client would declare them",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-missing-capability-data"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					if code, _ := e.Message.Code(); code != spec.MissingClientCapability {
						continue
					}
					required := e.Message.Error().Get("data.requiredCapabilities")
					if !required.IsObject() || len(required.Map()) == 0 {
						j.Fail(e, "data.requiredCapabilities of error -32021 is %s, not an object that names capabilities", wire.Clip(required.Raw, 60))
						continue
					}
					fits(j, e, "data.requiredCapabilities", "ClientCapabilities", required)
				}
			},
		},
		{
			ID:    "lifecycle.exit-on-eof",
			Says:  "the server exits when its standard input is closed, and needs no message for it",
			Level: spec.Should,
			In:    spec.Every,
			On:    transport.OnStdio, // a server over HTTP lives on when a client goes
			Rules: []string{"lifecycle-stdio-server-exit-on-eof", "lifecycle-shutdown-via-transport"},
			// exitOnEOF looks at sessions that we ended. While a request was unanswered
			// the server may have been at work, and how long that takes is not stated; nor
			// is it known of one that we had to kill.
			Judge: func(j *check.J) {
				end := j.Ending()
				if end == nil || !end.Asked || !allAnswered(j) {
					return
				}
				switch {
				case end.Graceful:
					j.Saw()
				case end.Waited > 0:
					j.FailSession("the server still ran %.1f s after its standard input was closed, and was ended by a signal", end.Waited.Seconds())
				}
			},
		},
	}
}

// identity returns the serverInfo of a result: of initialize, or since
// 2026-07-28 of every one.
func identity(j *check.J, e wire.Entry) gjson.Result {
	if j.Facts.Stateless {
		return wire.Member(e.Message.Result().Get("_meta"), spec.MetaServerInfo)
	}
	return e.Message.Result().Get("serverInfo")
}

// fits judges a value by its definition in the schema of the revision; icons
// are judged wherever they stand.
func fits(j *check.J, e wire.Entry, what, definition string, v gjson.Result) {
	broken := slices.DeleteFunc(schema.For(j.Rev).Validate(definition, []byte(v.Raw)), func(v schema.Violation) bool {
		return transcript.PointerMatches(v.Place(), []string{"/icons/**"})
	})
	if len(broken) > 0 {
		j.Fail(e, "%s: %v", what, broken[0])
		return
	}
	j.Saw()
}

// allAnswered tells whether the judged side was sent requests and answered
// each of them.
func allAnswered(j *check.J) bool {
	open := map[string]int{}
	asked := false
	for _, e := range j.Received() {
		if m := e.Message; m.Kind == wire.Request && m.ID().Usable() {
			asked = true
			open[m.ID().Key()]++
		}
	}
	for _, e := range j.Sent() {
		if m := e.Message; m.IsResponse() {
			delete(open, m.ID().Key())
		}
	}
	return asked && len(open) == 0
}
