package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/opening"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// noIncompleteRequest is why probes of missing fields are not observed.
const noIncompleteRequest = "no request without the field was sent"

// metaProbes returns the probes of basic/index#_meta and #statelessness, since
// 2026-07-28: the fields by which each request describes itself.
func metaProbes() []check.Check {
	return []check.Check{
		{
			ID:       "schema.request-meta.capabilities",
			Says:     "the server refuses a request without client capabilities in _meta with error -32602",
			Level:    spec.Must,
			In:       spec.Stateless,
			Malforms: true,
			Rules:    []string{"lifecycle-meta-missing-rejected", "lifecycle-stateless-no-prior-context"},
			Idle:     noIncompleteRequest,
			Hint:     expect.HintReply,
			// The shared session has had complete requests: a server that takes the
			// capabilities from them would serve this one.
			Probe: func(t *check.T) {
				m := t.Request("server/discover", onlyMeta(check.Params{
					spec.MetaProtocolVersion: string(t.Rev),
					spec.MetaClientInfo:      check.Params{"name": "mcpcheck", "version": "0.1.0"},
				}))
				match.Expect(t, m).To(match.BeError(spec.InvalidParams), "a request without %s",
					spec.MetaClientCapabilities)
				t.Saw()
			},
		},
		{
			ID:       "schema.request-meta.version",
			Says:     "a server without handshake revisions refuses a request with no version in _meta with -32602",
			Level:    spec.Must,
			In:       spec.Stateless,
			Malforms: true,
			Rules:    []string{"lifecycle-meta-missing-rejected"},
			Idle:     noIncompleteRequest,
			Hint:     expect.HintReply,
			Probe: func(t *check.T) {
				if posting.OverHTTP(t) {
					expectVersionRequiredByPOST(t)
				} else {
					expectVersionRequired(t)
				}
				t.Saw()
			},
		},
		{
			ID:    "schema.request-meta.optional",
			Says:  "the server serves a request whose _meta has the two required fields only",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-client-info-not-required"},
			Idle:  "no request was sent",
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				m := t.Request("server/discover", onlyMeta(check.Params{
					spec.MetaProtocolVersion:    string(t.Rev),
					spec.MetaClientCapabilities: check.Params{},
				}))
				match.Expect(t, m).To(match.BeResult(), "a request without %s", spec.MetaClientInfo)
				t.Saw()
			},
		},
		{
			ID:    "schema.identity.ignored",
			Says:  "the server offers the same whatever name and version the client gives",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-client-info-no-behaviour"},
			Idle:  "server/discover was not answered with a result",
			Hint:  "answer server/discover with a result",
			// If a second answer to the same client differs too, the server changed by itself.
			Probe: func(t *check.T) {
				offersTo := func(info check.Params) (string, bool) {
					return offers(t, check.Params{"_meta": check.Params{spec.MetaClientInfo: info}})
				}
				self := check.Params{"name": "mcpcheck", "version": "0.1.0"}
				first, ok := offersTo(self)
				for _, other := range []check.Params{
					{"name": "ExampleClient", "version": "1.0.0"},
					{"name": strings.Repeat("x", 300), "version": ""},
					{"name": "棱镜 \"<script>\"", "version": "-1"},
				} {
					if answer, _ := offersTo(other); answer != first {
						if again, _ := offersTo(self); again != first {
							t.NotObserved("what the server offers changed by itself in the meantime",
								"offer the same during the whole run")
						}
						name := wire.Clip(other["name"].(string), 40)
						t.Fail(first, answer, "the server answers a client of the name %s differently", name)
					}
					if ok {
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "schema.capabilities.required",
			Says:  "the server refuses a request that needs an undeclared client capability with error -32021",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"lifecycle-missing-capability-error"},
			Idle:  "no tool that could be called without arguments asked for input",
			Hint:  "offer a read-only tool that requests input and requires no argument" + check.OrAllow,
			// A tool that asks a client with all capabilities for input is called again by a
			// client without any. lifecycle.input.declared judges a tool that asks nevertheless;
			// a tool may also do without input.
			Probe: func(t *check.T) {
				for _, name := range toolsWithoutArguments(t) {
					call := func(capabilities check.Params) check.Reply {
						return t.Try("tools/call", check.Params{
							"name": name, "arguments": check.Params{},
							"_meta": check.Params{spec.MetaClientCapabilities: capabilities},
						})
					}
					if !asksForInput(call(t.Client().Capabilities())) {
						continue
					}
					r := call(check.Params{})
					if asksForInput(r) {
						continue
					}
					m := r.Message
					code, _ := m.ErrorCode()
					isOtherError := m.Kind == wire.Error && code != spec.MissingClientCapability
					if r.Err != nil || isOtherError || m.Result().Get("isError").Bool() {
						t.Fail("error -32021", m.Summary(),
							"the tool %q asks a client for input; it answered one without capabilities with %s", name,
							m.Summary())
					}
					t.Saw()
				}
			},
		},
	}
}

// onlyMeta returns params whose _meta holds these fields and no others.
func onlyMeta(fields check.Params) check.Params {
	return check.Params{"_meta": json.RawMessage(check.MustJSON(fields))}
}

// An incompleteRequest is the params of a request whose _meta names no version.
type incompleteRequest struct {
	what   string
	params check.Params
}

// requestsWithoutVersion returns the ways to name no version.
func requestsWithoutVersion() []incompleteRequest {
	return []incompleteRequest{
		{"a request without params", nil},
		{"a request with an empty _meta", check.Params{"_meta": check.Params{}}},
		{
			"a request without " + spec.MetaProtocolVersion,
			onlyMeta(check.Params{spec.MetaClientCapabilities: check.Params{}}),
		},
	}
}

// acceptsInitialize is why a request without version may be right.
const acceptsInitialize = "the server accepts initialize: " +
	"a request without these fields may be one of the handshake era"

// expectVersionRequired fails the check unless the server refuses requests without
// version. It sends them to an instance that has refused initialize: there no request
// can belong to the handshake era.
func expectVersionRequired(t *check.T) {
	o := opening.OpenAsLegacyClient(t)
	switch {
	case !o.Answered:
		t.NotObserved("initialize was not answered, so that the server's eras are not known",
			"answer initialize, at least with an error")
	case o.Answer.Kind == wire.Result:
		t.NotApplicable(acceptsInitialize)
	}
	on := t.Sessions().UnopenedAt(spec.Handshake.Newest())
	defer on.Sessions().CloseLater()
	r := on.Try("initialize", check.InitializeParams(string(on.Rev)))
	if r.Err != nil || r.Message.Kind != wire.Error {
		t.NotObserved("initialize, which was refused before, was answered with "+r.Message.Summary(),
			"answer initialize alike each time")
	}
	for _, c := range requestsWithoutVersion() {
		match.Expect(on, on.Request("server/discover", c.params)).To(match.BeError(spec.InvalidParams), c.what)
	}
}

// expectVersionRequiredByPOST does the same over HTTP, where every POST names the
// version in its header. For a header without a version in the body one page requires
// error -32602 and another -32020 (basic/index#per-request-protocol-fields,
// basic/transports/streamable-http#server-validation).
func expectVersionRequiredByPOST(t *check.T) {
	if posting.ProbeHandshake(t).Served {
		t.NotApplicable(acceptsInitialize)
	}
	for _, c := range requestsWithoutVersion() {
		x := t.HTTP().Post(string(wire.EncodeCall(t.NextID(), "server/discover", c.params)))
		m, _ := t.HTTP().Response(x)
		if code, _ := m.ErrorCode(); m.Kind != wire.Error || code != spec.InvalidParams && code != spec.HeaderMismatch {
			t.Fail("error -32602", check.Describe(x), "%s was answered with %s", c.what, check.Describe(x))
		}
	}
}

// offers returns what the server offers a client: versions, capabilities and the names
// of its tools, in order. ok is false if server/discover was answered with an error,
// which is returned then.
func offers(t *check.T, params check.Params) (summary string, ok bool) {
	m := t.Request("server/discover", params)
	if m.Kind != wire.Result {
		return "error " + m.Error().Get("code").Raw, false
	}
	parts := []string{m.Result().Get("capabilities|@ugly").Raw}
	for _, v := range transcript.SupportedVersions(m) {
		parts = append(parts, v.String())
	}
	if t.Declares("tools") {
		for _, tool := range t.Request("tools/list", params).Result().Get("tools").Array() {
			parts = append(parts, "tool "+tool.Get("name").String())
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", "), true
}

// asksForInput reports whether the answer to a call asks for input.
func asksForInput(r check.Reply) bool {
	return r.Message.Result().Get("resultType").String() == "input_required"
}

// Bounds of the search for a tool that asks for input: the tools that are called, and
// the pages of the list that are read.
const maxTools, maxPages = 20, 20

// toolsWithoutArguments returns the names of tools that require no argument and may be
// called without any.
func toolsWithoutArguments(t *check.T) []string {
	var names []string
	params := check.Params{}
	for page := 0; page < maxPages && len(names) < maxTools; page++ {
		list := check.RequireResult(t, "tools/list", params)
		list.Get("tools").ForEach(func(_, tool gjson.Result) bool {
			isGiven := slices.Contains(t.Config().Arguments(tool.Get("name").String()), "{}")
			requiresNone := len(tool.Get("inputSchema.required").Array()) == 0
			if requiresNone && (isGiven || t.Config().MayInvent(tool)) {
				names = append(names, tool.Get("name").String())
			}
			return len(names) < maxTools
		})
		next := list.Get("nextCursor")
		if next.Type != gjson.String {
			break
		}
		params["cursor"] = next.String()
	}
	return names
}
