package tools

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// callProbes are the probes of server/tools#calling-tools and
// #error-handling. The shape of results is judged in every session.
func callProbes() []check.Check {
	return []check.Check{
		{
			ID:    "tools.call.unknown",
			Says:  "a call of an unknown tool is answered with a protocol error",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"tools-unknown-tool-error", "tools-find-error-schema"},
			// unknownTool: the code -32602 stands in an example only.
			Probe: func(t *check.T) {
				m := t.Request("tools/call", check.Params{"name": offer.UnknownTool, "arguments": check.Params{}})
				gomega.NewWithT(t).Expect(m).To(match.BeError())
				if code, _ := m.Code(); code != spec.InvalidParams {
					t.Note("an unknown tool was answered with %d; the example of the page has -32602", code)
				}
			},
		},
		{
			ID:    "tools.call.unsupported",
			Says:  "a call of a tool on a server without tools is answered with a protocol error",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"tools-find-error-schema"},
			Probe: func(t *check.T) {
				if t.Declares("tools") {
					t.NotApplicable("the server has tools")
				}
				gomega.NewWithT(t).Expect(t.Request("tools/call", check.Params{"name": offer.UnknownTool, "arguments": check.Params{}})).To(match.BeError())
			},
		},
		{
			ID:       "tools.call.malformed",
			Says:     "a tools/call that breaks its schema is answered with a protocol error",
			Level:    spec.Must,
			In:       spec.Stateless,
			Needs:    "tools",
			Rules:    []string{"tools-call-malformed-request-error"},
			Malforms: true,
			Probe:    func(t *check.T) { malformedCall(t) },
		},
		{
			ID:       "tools.call.malformed.advised",
			Says:     "a tools/call that breaks its schema is answered with a protocol error",
			Level:    spec.Should,
			In:       spec.Only(spec.V2025_11_25),
			Needs:    "tools",
			Rules:    []string{"tools-call-malformed-request-error"},
			Malforms: true,
			Probe:    func(t *check.T) { malformedCall(t) },
		},
		{
			ID:    "tools.call.arguments.validated",
			Says:  "arguments that do not fit the inputSchema are refused",
			Level: spec.Must,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"tools-validate-inputs"},
			// argumentsValidated accepts both forms of refusal, a protocol error and a
			// result with isError. Of what can be put right it only tells: to drop a member
			// too many or to fill in a default is a way to validate.
			Probe: func(t *check.T) {
				refused := false
				for _, r := range refusals(t) {
					m := r.answer.Message
					switch {
					case m.Kind == wire.Error || m.Result().Get("isError").Bool():
						refused = true
					case m.Kind != wire.Result || !check.IsComplete(t, m):
					case r.misfit.Mends:
						t.Note("tool %q took arguments that break its schema, which a server may put right: %s", r.tool, r.misfit.Why)
					default:
						t.Mark(r.answer)
						t.Fail("an error, or a result with isError true", m.Summary(), "tool %q was called with arguments that break its inputSchema (%s) and succeeded", r.tool, r.misfit.Why)
					}
				}
				if !refused {
					t.NotObserved("no tool with arguments that could be wrong may be called with wrong ones", "--allow-tools NAME,… allows it")
				}
			},
		},
		{
			ID:    "tools.call.arguments.reported",
			Says:  "arguments that do not fit the inputSchema are reported in a result, with isError true",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Needs: "tools",
			Rules: []string{"tools-input-error-in-result"},
			// argumentsReported judges the form of a refusedCall: the page asks for a result,
			// so that a model can correct itself.
			Probe: func(t *check.T) {
				reported := false
				for _, r := range refusals(t) {
					m := r.answer.Message
					// Over HTTP the headers that repeat arguments may be validated first
					// (basic/transports/streamable-http#server-behavior-for-custom-headers).
					if code, _ := m.Code(); code == spec.HeaderMismatch && t.Transport() != transport.Stdio {
						continue
					}
					if m.Kind == wire.Error {
						t.Mark(r.answer)
						t.Fail("a result with isError true", m.Summary(), "tool %q was called with arguments that break its inputSchema (%s), which was answered with a protocol error", r.tool, r.misfit.Why)
					}
					reported = reported || m.Result().Get("isError").Bool()
				}
				if !reported {
					t.NotObserved("no call with wrong arguments was refused", "--allow-tools NAME,… allows such calls")
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
			// nameCase calls tools by their name in another case, unless that is the name
			// of another tool.
			Probe: func(t *check.T) {
				tools := offer.Tools(t)
				names := map[string]bool{}
				for _, tool := range tools {
					names[tool.Get("name").String()] = true
				}
				for _, tool := range tools {
					name := tool.Get("name").String()
					other := swapCase(name)
					args := offer.Made(offer.Generator(t, tool), 1)
					if names[other] || !t.Config().MaySendInvalid(tool) || offer.OnlyAsTask(t, tool) || len(args) == 0 {
						continue
					}
					m := t.Request("tools/call", check.Params{"name": other, "arguments": json.RawMessage(args[0])})
					if m.Kind == wire.Result && !m.Result().Get("isError").Bool() {
						t.Fail("an unknown tool", m.Summary(), "the tool %q also answers to %q", name, other)
					}
					return
				}
				t.NotObserved("no tool may be called by an altered name", "--allow-tools NAME,… allows it")
			},
		},
		{
			ID:    "tools.link.readable",
			Says:  "a resource that a tool links to can be read",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_06_18),
			Needs: "tools",
			Rules: []string{"tools-resource-link-readable"},
			// linksReadable leaves out links to the web, which a client fetches by itself
			// (server/resources#common-uri-schemes).
			Probe: func(t *check.T) {
				if !t.Declares("resources") {
					t.NotObserved("resources is not declared", "")
				}
				c := toolcalls.Calls(t)
				read := map[string]bool{}
				for _, result := range c.Results {
					for _, block := range result.Answer.Message.Result().Get("content").Array() {
						uri := block.Get("uri").String()
						web := strings.HasPrefix(uri, "https:") || strings.HasPrefix(uri, "http:")
						if block.Get("type").String() != "resource_link" || uri == "" || web || read[uri] || len(read) == toolcalls.MaxCalls {
							continue
						}
						read[uri] = true
						if m := t.Request("resources/read", check.Params{"uri": uri}); m.Kind != wire.Result {
							t.Fail("its contents", m.Summary(), "tool %q links to %s, which was read with %s", result.Tool.Get("name").String(), wire.Clip(uri, 120), m.Summary())
						}
					}
				}
				if len(read) == 0 {
					t.NotObserved("no tool returned a link to a resource", check.AllowHint(c.Held))
				}
			},
		},
	}
}

// malformedCall names no tool in its first two calls, so that nothing can be
// executed. The third, where manners allow it, names one, and a result with
// isError is accepted: the server may take the arguments for the tool's.
func malformedCall(t *check.T) {
	g := gomega.NewWithT(t)
	g.Expect(t.Request("tools/call", check.Params{"arguments": check.Params{}})).To(match.BeError())
	g.Expect(t.Request("tools/call", check.Params{"name": 5, "arguments": check.Params{}})).To(match.BeError())
	for _, tool := range offer.Tools(t) {
		if !t.Config().MaySendInvalid(tool) || offer.OnlyAsTask(t, tool) {
			continue
		}
		m := t.Request("tools/call", check.Params{"name": tool.Get("name").String(), "arguments": []any{"mcpcheck"}})
		if !m.Result().Get("isError").Bool() {
			g.Expect(m).To(match.BeError())
		}
		return
	}
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}
