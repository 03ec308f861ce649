package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/opening"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// metaProbes are the probes of basic/index#_meta and #statelessness, since
// 2026-07-28: the fields by which each request describes itself.
func metaProbes() []check.Check {
	return []check.Check{
		{
			ID:       "lifecycle.meta.capabilities",
			Says:     "a request whose _meta has no client capabilities is refused with error -32602, whatever was sent before",
			Level:    spec.Must,
			In:       spec.Stateless,
			Malforms: true,
			Rules:    []string{"lifecycle-meta-missing-rejected", "lifecycle-stateless-no-prior-context"},
			// metaCapabilities runs in a session where many requests were complete, so
			// that a server which remembers them would serve this one.
			Probe: func(t *check.T) {
				m := t.Request("server/discover", bare(check.Params{
					spec.MetaProtocolVersion: string(t.Rev),
					spec.MetaClientInfo:      check.Params{"name": "mcpcheck", "version": "0.1.0"},
				}))
				expectInvalid(t, m, "a request without "+spec.MetaClientCapabilities)
			},
		},
		{
			ID:       "lifecycle.meta.version",
			Says:     "a server without handshake revisions refuses a request whose _meta names no version with error -32602",
			Level:    spec.Must,
			In:       spec.Stateless,
			Malforms: true,
			Rules:    []string{"lifecycle-meta-missing-rejected"},
			// metaVersion asks on an instance that has refused initialize: there no
			// request can belong to the handshake era for lack of the fields.
			Probe: func(t *check.T) {
				if posting.OverHTTP(t) {
					metaVersionPosted(t)
					return
				}
				o := opening.Legacy(t)
				switch {
				case !o.Answered:
					t.NotObserved("initialize was not answered, so that the server's eras are not known", "")
				case o.Answer.Kind == wire.Result:
					t.NotApplicable("the server accepts initialize: a request without these fields may be one of the handshake era")
				}
				on := t.Sessions().UnopenedAt(spec.Handshake.Newest())
				defer on.Sessions().Leave()
				if m, ok := on.Try("initialize", check.InitializeParams(string(on.Rev))).Answer(); !ok || m.Kind != wire.Error {
					t.NotObserved("initialize, which was refused before, was answered with "+m.Summary(), "")
				}
				for _, c := range withoutVersion() {
					expectInvalid(on, on.Request("server/discover", c.params), c.what)
				}
			},
		},
		{
			ID:    "lifecycle.meta.optional",
			Says:  "a request whose _meta has the two required fields only is served",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-client-info-not-required"},
			Probe: func(t *check.T) {
				m := t.Request("server/discover", bare(check.Params{
					spec.MetaProtocolVersion:    string(t.Rev),
					spec.MetaClientCapabilities: check.Params{},
				}))
				if m.Kind != wire.Result {
					t.Fail("a result", m.Summary(), "a request without %s was answered with %s", spec.MetaClientInfo, m.Summary())
				}
			},
		},
		{
			ID:    "lifecycle.identity.ignored",
			Says:  "the server behaves the same whatever the client calls itself",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-client-info-no-behaviour"},
			// identityIgnored asks as ourselves, as others, and as ourselves again: where
			// the two answers to ourselves differ, the server changed by itself.
			Probe: func(t *check.T) {
				seen := func(info check.Params) string {
					return offers(t, check.Params{"_meta": check.Params{spec.MetaClientInfo: info}})
				}
				self := check.Params{"name": "mcpcheck", "version": "0.1.0"}
				first := seen(self)
				for _, other := range []check.Params{
					{"name": "ExampleClient", "version": "1.0.0"},
					{"name": strings.Repeat("x", 300), "version": ""},
					{"name": "棱镜 \"<script>\"", "version": "-1"},
				} {
					answer := seen(other)
					if answer == first {
						continue
					}
					if seen(self) != first {
						t.NotObserved("what the server offers changed by itself in the meantime", "")
					}
					t.Fail(first, answer, "the server answers a client of the name %s otherwise", wire.Clip(other["name"].(string), 40))
				}
			},
		},
		{
			ID:    "lifecycle.capabilities.required",
			Says:  "a request that needs a client capability which it does not declare is refused with error -32021",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"lifecycle-missing-capability-error"},
			// capabilityRequired calls tools that need no arguments with all client
			// capabilities declared. One that asks for input then needs a capability; it
			// is called again without any. Asking nevertheless is judged in every session
			// (lifecycle.input.declared); an answer without need of input is no offence.
			Probe: func(t *check.T) {
				every := check.Params{"_meta": check.Params{spec.MetaClientCapabilities: t.Client().Capabilities()}}
				asking := false
				for _, name := range plainTools(t) {
					call := func(params check.Params) (wire.Message, bool) {
						return t.Try("tools/call", check.Params{"name": name, "arguments": check.Params{}, "_meta": params["_meta"]}).Answer()
					}
					m, ok := call(every)
					if !ok || m.Result().Get("resultType").String() != "input_required" {
						continue
					}
					m, ok = call(check.Params{"_meta": check.Params{spec.MetaClientCapabilities: check.Params{}}})
					if m.Result().Get("resultType").String() == "input_required" {
						continue
					}
					asking = true
					code, _ := m.Code()
					if !ok || m.Kind == wire.Error && code != spec.MissingClientCapability || m.Result().Get("isError").Bool() {
						t.Fail("error -32021", m.Summary(), "the tool %q asks for input when it can; to a client without capabilities it answered with %s", name, m.Summary())
					}
				}
				if !asking {
					t.NotObserved("no tool that could be called without arguments asked for input", "--allow-tools NAME,… allows tools that are not read-only")
				}
			},
		},
	}
}

// bare returns params whose _meta holds these fields and no others.
func bare(fields check.Params) check.Params {
	raw, err := json.Marshal(fields)
	if err != nil {
		panic("server: " + err.Error())
	}
	return check.Params{"_meta": json.RawMessage(raw)}
}

func expectInvalid(t *check.T, m wire.Message, what string) {
	if code, _ := m.Code(); code == spec.HeaderMismatch && posting.OverHTTP(t) && !t.Facts.Stateless {
		return // a session of another revision sends no headers, which -32020 tells
	}
	if code, _ := m.Code(); m.Kind != wire.Error || code != spec.InvalidParams {
		t.Fail("error -32602", m.Summary(), "%s was answered with %s", what, m.Summary())
	}
}

type incomplete struct {
	what   string
	params check.Params
}

// withoutVersion are the params that name no version.
func withoutVersion() []incomplete {
	return []incomplete{
		{"a request without params", nil},
		{"a request with an empty _meta", check.Params{"_meta": check.Params{}}},
		{"a request without " + spec.MetaProtocolVersion, bare(check.Params{spec.MetaClientCapabilities: check.Params{}})},
	}
}

// metaVersionPosted names the version in its header, as every POST must. That
// this then stands for nothing in the body is said to be -32602 on one page and
// would be -32020 on another (basic/index#per-request-protocol-fields,
// basic/transports/streamable-http#server-validation).
func metaVersionPosted(t *check.T) {
	if posting.OtherEras(t).Handshake {
		t.NotApplicable("the server accepts initialize: a request without these fields may be one of the handshake era")
	}
	for _, c := range withoutVersion() {
		x := t.HTTP().Post(string(session.Frame(t.NextID(), "server/discover", c.params)))
		m, _ := t.HTTP().Response(x)
		if code, _ := m.Code(); m.Kind != wire.Error || code != spec.InvalidParams && code != spec.HeaderMismatch {
			t.Fail("error -32602", check.Describe(x), "%s was answered with %s", c.what, check.Describe(x))
		}
	}
}

// offers sums up what the server tells a client of itself: versions,
// capabilities and the names of its tools, in any order.
func offers(t *check.T, params check.Params) string {
	m := t.Request("server/discover", params)
	if m.Kind != wire.Result {
		return "error " + m.Error().Get("code").Raw
	}
	parts := []string{m.Result().Get("capabilities|@ugly").Raw}
	for _, v := range m.Result().Get("supportedVersions").Array() {
		parts = append(parts, v.String())
	}
	if t.Declares("tools") {
		for _, tool := range t.Request("tools/list", params).Result().Get("tools").Array() {
			parts = append(parts, "tool "+tool.Get("name").String())
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// Bounds of the search for a tool that asks for input: the tools that are
// called, and the pages of the list that are read.
const maxAsking, maxPages = 20, 20

// plainTools returns the names of tools that may be called and require no
// argument.
func plainTools(t *check.T) []string {
	var names []string
	params := check.Params{}
	for page := 0; page < maxPages && len(names) < maxAsking; page++ {
		list := check.RequireResult(t, "tools/list", params)
		list.Get("tools").ForEach(func(_, tool gjson.Result) bool {
			if t.Config().MayCall(tool) && len(tool.Get("inputSchema.required").Array()) == 0 {
				names = append(names, tool.Get("name").String())
			}
			return len(names) < maxAsking
		})
		next := list.Get("nextCursor")
		if next.Type != gjson.String {
			break
		}
		params["cursor"] = next.String()
	}
	return names
}
