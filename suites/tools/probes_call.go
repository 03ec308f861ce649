package tools

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// Why several probes are not observed, and what helps.
const (
	noUnknownCall     = "no unknown tool was called"
	noMalformedCall   = "no tools/call that breaks its schema was sent"
	noLink            = "no tool returned a link to a resource of the server"
	allowInvalidCalls = "allow a tool with arguments to be called with invalid ones: --allow-tools NAME,…"
)

// probesOfCalls returns the probes of server/tools#calling-tools and #error-handling.
// Judges judge the shape of the results of every session.
func probesOfCalls() []check.Check {
	return []check.Check{
		{
			ID:    "tools.call.unknown",
			Says:  "the server answers a call of an unknown tool with a protocol error",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"tools-unknown-tool-error", "tools-find-error-schema"},
			Idle:  noUnknownCall,
			Hint:  expect.HintReply,
			// tools.call.unknown.code judges the code.
			Probe: func(t *check.T) {
				m := t.Request("tools/call", unknownCall)
				match.Expect(t, m).To(match.BeError(), "tools/call of an unknown tool")
				t.Saw()
			},
		},
		{
			ID:    "tools.call.unknown.code",
			Says:  "the error for a call of an unknown tool is -32602, or a code without another standard meaning",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"tools-unknown-tool-code"},
			Idle:  "the call of an unknown tool was not answered with an error",
			Hint:  "refuse the call of an unknown tool with an error",
			// A code of the application is noted: the code -32602 is that of an example.
			Probe: func(t *check.T) {
				r := t.Try("tools/call", unknownCall)
				code, ok := r.Message.ErrorCode()
				switch {
				case !ok:
					return
				case isStandardCode(code):
					match.Expect(t, r).To(match.BeError(spec.InvalidParams), "tools/call of an unknown tool")
				default:
					t.Note("the server answers a call of an unknown tool with %d; the example of the page has -32602",
						code)
				}
				t.Saw()
			},
		},
		{
			ID:    "tools.call.unsupported",
			Says:  "a server without tools answers a call of a tool with a protocol error",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"tools-find-error-schema"},
			Idle:  noUnknownCall,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				if t.Declares("tools") {
					t.NotApplicable("the server has tools")
				}
				m := t.Request("tools/call", unknownCall)
				match.Expect(t, m).To(match.BeError(), "tools/call to a server that does not declare tools")
				t.Saw()
			},
		},
		{
			ID:       "tools.call.malformed",
			Says:     "the server answers a tools/call that breaks its schema with a protocol error",
			Level:    spec.Should,
			In:       spec.Since(spec.V2025_11_25),
			Needs:    "tools",
			Rules:    []string{"tools-call-malformed-request-error"},
			Malforms: true,
			Idle:     noMalformedCall,
			Hint:     expect.HintReply,
			Probe:    func(t *check.T) { probeMalformedCalls(t) },
		},
		{
			ID:    "tools.call.arguments.validated",
			Says:  "the server refuses arguments that break the inputSchema of the tool",
			Level: spec.Must,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"tools-validate-inputs"},
			Idle:  "no tool with arguments may be called with invalid ones",
			Hint:  allowInvalidCalls,
			// A protocol error and a result with isError true are both refusals. A server
			// may repair arguments instead: drop an unknown member or fill in a default. A
			// result whose text may be a refusal is judged by tools.call.arguments.reported.
			Probe: func(t *check.T) {
				for _, c := range invalidCalls(t) {
					m := c.answer.Message
					switch {
					case m.Kind == wire.Error || m.Result().Get("isError").Bool():
						t.Saw()
					case !check.IsComplete(t, m):
					case c.mayRefuseInText():
						t.Note("tool %q answers arguments that break its schema (%s) with %s, and valid ones with %s",
							c.tool, c.misfit.Why, quoteContent(m), quoteContent(c.control))
					case c.misfit.Repairable:
						t.Note("tool %q accepts arguments that break its schema, which a server may repair: %s", c.tool,
							c.misfit.Why)
					default:
						t.Mark(c.answer)
						t.Fail("an error, or a result with isError true", quoteContent(m),
							"the call of tool %q with arguments that break its inputSchema (%s) was served", c.tool,
							c.misfit.Why)
					}
				}
			},
		},
		{
			ID:    "tools.call.arguments.reported",
			Says:  "the server reports arguments that break the inputSchema in a result with isError true",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Needs: "tools",
			Rules: []string{"tools-input-error-in-result"},
			Idle:  "no call with invalid arguments was refused",
			Hint:  "refuse invalid arguments, and allow a tool to be called with them: --allow-tools NAME,…",
			// Over HTTP the headers that repeat arguments may be validated first
			// (basic/transports/streamable-http#server-behavior-for-custom-headers).
			Probe: func(t *check.T) {
				for _, c := range invalidCalls(t) {
					m := c.answer.Message
					code, _ := m.ErrorCode()
					switch {
					case code == spec.HeaderMismatch && t.Transport() != transport.Stdio:
					case m.Kind == wire.Error:
						t.Mark(c.answer)
						t.Fail("a result with isError true", m.Summary(),
							"a call of tool %q with arguments that break its inputSchema (%s) got a protocol error",
							c.tool, c.misfit.Why)
					case m.Result().Get("isError").Bool():
						t.Saw()
					case m.Kind == wire.Result && c.mayRefuseInText() && !c.misfit.Repairable:
						t.Mark(c.answer)
						t.Fail("a result with isError true", quoteContent(m)+" without isError",
							"a call of tool %q with arguments that break its inputSchema (%s) got a result without "+
								"isError, other than that of valid arguments: %s", c.tool, c.misfit.Why,
							quoteContent(c.control))
					}
				}
			},
		},
		{
			ID:    "tools.call.arguments.optional",
			Says:  "a tool that requires no argument is called alike without arguments and with empty ones",
			Level: spec.Robust,
			In:    spec.Every,
			Needs: "tools",
			Spec:  "schema.ts#CallToolRequest",
			Idle:  "no tool that requires no argument was called with success",
			Hint:  "offer a read-only tool that requires no argument" + check.OrAllow,
			// Clients leave out what is optional, or not.
			Probe: func(t *check.T) {
				const most = 3
				called := map[string]bool{}
				for _, c := range toolcalls.Calls(t).Results {
					name := c.Tool.Get("name").String()
					isEmpty := len(gjson.Parse(c.Args).Map()) == 0
					if !isEmpty || called[name] || len(called) == most || !t.Config().MayInvent(c.Tool) ||
						offer.RequiresTask(t, c.Tool) {
						continue
					}
					called[name] = true
					expect.ArgumentsOptional(t, "tools/call", name)
				}
			},
		},
		{
			ID:    "tools.name.case",
			Says:  "the name of a tool in another case is an unknown name",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Needs: "tools",
			Rules: []string{"tools-name-case-sensitive"},
			Idle:  "no tool may be called by its name in another case",
			Hint:  "offer a read-only tool" + check.OrAllow,
			Probe: func(t *check.T) {
				tools := offer.Tools(t)
				for _, tool := range tools {
					name := tool.Get("name").String()
					other := swapCase(name)
					args := offer.Arguments(t, tool, 1)
					callable := t.Config().MayCall(tool) && !offer.RequiresTask(t, tool) && len(args) > 0
					if !callable || hasName(tools, other) {
						continue
					}
					call := func(name string) wire.Message {
						params := check.Params{"name": name, "arguments": json.RawMessage(args[0])}
						return t.Request("tools/call", params)
					}
					m := call(other)
					if m.Kind == wire.Result && !m.Result().Get("isError").Bool() {
						unknown := call(offer.UnknownTool)
						if sameContent(m, other, unknown, offer.UnknownTool) {
							t.NotObserved("an unknown tool gets a result too, which another check reports",
								"answer the call of an unknown tool with an error")
						}
						t.Fail("an answer as for an unknown tool: "+unknown.Summary(), quoteContent(m),
							"the call of tool %q by the name %q was served", name, other)
					}
					t.Saw()
					return
				}
			},
		},
		{
			ID:    "tools.link.readable",
			Says:  "a resource that a tool links to can be read",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_06_18),
			Needs: "tools",
			Rules: []string{"tools-resource-link-readable"},
			Idle:  noLink,
			Hint:  "offer a read-only tool that returns a link to a resource of the server" + check.OrAllow,
			// A client fetches links to the web by itself
			// (server/resources#common-uri-schemes).
			Probe: func(t *check.T) {
				if !t.Declares("resources") {
					t.NotObserved("the server does not declare resources", "declare resources, to which tools can link")
				}
				calls := toolcalls.Calls(t)
				read := map[string]bool{}
				for _, call := range calls.Results {
					for _, uri := range linkedURIs(call.Answer.Message.Result()) {
						if read[uri] || len(read) == toolcalls.MaxCalls {
							continue
						}
						read[uri] = true
						m := t.Request("resources/read", check.Params{"uri": uri})
						match.Expect(t, m).To(match.BeResult(), "resources/read for %s, to which tool %q links",
							wire.Clip(uri, 120), call.Tool.Get("name").String())
						t.Saw()
					}
				}
				if len(read) == 0 {
					t.NotObserved(noLink, check.AllowHint(calls.NotAllowed))
				}
			},
		},
	}
}

// unknownCall holds the params of a call of an unknown tool.
var unknownCall = check.Params{"name": offer.UnknownTool, "arguments": check.Params{}}

// isStandardCode reports whether JSON-RPC 2.0 defines a code (section 5.1).
func isStandardCode(code int) bool {
	return code == spec.ParseError || code >= -32603 && code <= -32600
}

// probeMalformedCalls sends calls that break schema.ts#CallToolRequest. The first two
// name no tool, so that nothing can be executed. The third is only sent if a tool may
// be called with invalid arguments; a result with isError true is accepted for it,
// since the server may take the arguments for those of the tool.
func probeMalformedCalls(t *check.T) {
	for _, params := range []check.Params{
		{"arguments": check.Params{}},
		{"name": 5, "arguments": check.Params{}},
	} {
		match.Expect(t, t.Request("tools/call", params)).To(match.BeError(),
			"tools/call with params %s", check.MustJSON(params))
		t.Saw()
	}
	for _, tool := range offer.Tools(t) {
		if !t.Config().MaySendInvalid(tool) || offer.RequiresTask(t, tool) {
			continue
		}
		name := tool.Get("name").String()
		m := t.Request("tools/call", check.Params{"name": name, "arguments": []any{"mcpcheck"}})
		if !m.Result().Get("isError").Bool() {
			match.Expect(t, m).To(match.BeError(), "tools/call of tool %q with an array as arguments", name)
		}
		return
	}
}

// hasName reports whether a tool has a name.
func hasName(tools []gjson.Result, name string) bool {
	for _, tool := range tools {
		if tool.Get("name").String() == name {
			return true
		}
	}
	return false
}

// linkedURIs returns the URIs of the resource links in the result of a tool, except
// those of the web.
func linkedURIs(result gjson.Result) []string {
	var out []string
	for _, block := range result.Get("content").Array() {
		uri := block.Get("uri").String()
		isWeb := strings.HasPrefix(uri, "https:") || strings.HasPrefix(uri, "http:")
		if block.Get("type").String() == "resource_link" && uri != "" && !isWeb {
			out = append(out, uri)
		}
	}
	return out
}

// swapCase turns upper case into lower case and the reverse.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}
