package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/onsi/gomega"
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// toolsCalling are the probes of server/tools#calling-tools and
// #error-handling. The shape of results is judged in every session.
func toolsCalling() []check.Check {
	return []check.Check{
		{
			ID:    "tools.call.unknown",
			Says:  "a call of an unknown tool is answered with a protocol error",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"tools-unknown-tool-error", "tools-find-error-schema"},
			Probe: unknownTool,
		},
		{
			ID:    "tools.call.unsupported",
			Says:  "a call of a tool on a server without tools is answered with a protocol error",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"tools-find-error-schema"},
			Probe: callWithoutTools,
		},
		{
			ID:       "tools.call.malformed",
			Says:     "a tools/call that breaks its schema is answered with a protocol error",
			Level:    spec.Must,
			In:       spec.Stateless,
			Needs:    "tools",
			Rules:    []string{"tools-call-malformed-request-error"},
			Malforms: true,
			Probe:    malformedCall,
		},
		{
			ID:       "tools.call.malformed.advised",
			Says:     "a tools/call that breaks its schema is answered with a protocol error",
			Level:    spec.Should,
			In:       spec.Only(spec.V2025_11_25),
			Needs:    "tools",
			Rules:    []string{"tools-call-malformed-request-error"},
			Malforms: true,
			Probe:    malformedCall,
		},
		{
			ID:    "tools.call.arguments.validated",
			Says:  "arguments that do not fit the inputSchema are refused",
			Level: spec.Must,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"tools-validate-inputs"},
			Probe: argumentsValidated,
		},
		{
			ID:    "tools.call.arguments.reported",
			Says:  "arguments that do not fit the inputSchema are reported in a result, with isError true",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Needs: "tools",
			Rules: []string{"tools-input-error-in-result"},
			Probe: argumentsReported,
		},
		{
			ID:    "tools.name.case",
			Says:  "the name of a tool in another case is an unknown name",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Needs: "tools",
			Rules: []string{"tools-name-case-sensitive"},
			Probe: nameCase,
		},
		{
			ID:    "tools.link.readable",
			Says:  "a resource that a tool links to can be read",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_06_18),
			Needs: "tools",
			Rules: []string{"tools-resource-link-readable"},
			Probe: linksReadable,
		},
	}
}

const noSuchTool = "mcpcheck_no_such_tool"

// unknownTool: the code -32602 stands in an example only.
func unknownTool(t *check.T) {
	m := t.Request("tools/call", check.Params{"name": noSuchTool, "arguments": check.Params{}})
	gomega.NewWithT(t).Expect(m).To(match.BeError())
	if code, _ := m.Code(); code != spec.InvalidParams {
		t.Note("an unknown tool was answered with %d; the example of the page has -32602", code)
	}
}

func callWithoutTools(t *check.T) {
	if t.Declares("tools") {
		t.NotApplicable("the server has tools")
	}
	gomega.NewWithT(t).Expect(t.Request("tools/call", check.Params{"name": noSuchTool, "arguments": check.Params{}})).To(match.BeError())
}

// malformedCall names no tool in its first two calls, so that nothing can be
// executed. The third, where manners allow it, names one, and a result with
// isError is accepted: the server may take the arguments for the tool's.
func malformedCall(t *check.T) {
	g := gomega.NewWithT(t)
	g.Expect(t.Request("tools/call", check.Params{"arguments": check.Params{}})).To(match.BeError())
	g.Expect(t.Request("tools/call", check.Params{"name": 5, "arguments": check.Params{}})).To(match.BeError())
	for _, tool := range knownTools(t) {
		if !t.MayAbuse(tool) || onlyAsTask(t, tool) {
			continue
		}
		m := t.Request("tools/call", check.Params{"name": tool.Get("name").String(), "arguments": []any{"mcpcheck"}})
		if !m.Result().Get("isError").Bool() {
			g.Expect(m).To(match.BeError())
		}
		return
	}
}

// A refusedCall is what came of a call with arguments that do not fit.
type refusedCall struct {
	tool, why string // why they do not fit
	answer    wire.Entry
}

// maxAbused bounds the tools that get invalid arguments.
const maxAbused = 8

// refusals calls tools with invalid arguments, once at this revision.
func refusals(t *check.T) []refusedCall {
	return check.Memo(t, "invalid arguments", func() []refusedCall {
		var out []refusedCall
		abused := 0
		for _, tool := range knownTools(t) {
			if !t.MayAbuse(tool) || onlyAsTask(t, tool) || abused == maxAbused {
				continue
			}
			abused++
			for _, args := range misfits(tool) {
				if e, err := t.TryFrame("tools/call", callParams(tool, args.raw)); err == nil {
					out = append(out, refusedCall{tool.Get("name").String(), args.why, e})
				} else if t.Over() != nil {
					return out
				}
			}
		}
		return out
	})
}

type misfit struct{ raw, why string }

// misfits returns arguments that do not fit the inputSchema of a tool, each for
// one reason: valid ones without a required member, and with a member of
// another type. What the schema turns out to allow is left out. Members too
// many are not tried: to drop them is a way to validate.
func misfits(tool gjson.Result) []misfit {
	input := tool.Get("inputSchema")
	valid := arguments(tool, 1)
	compiled, err := schema.CompileTool([]byte(input.Raw))
	if err != nil || len(valid) == 0 {
		return nil
	}
	var out []misfit
	try := func(why string, edit func(args map[string]any)) {
		args := map[string]any{}
		if json.Unmarshal([]byte(valid[0]), &args) != nil {
			return
		}
		edit(args)
		raw, err := json.Marshal(args)
		if err != nil {
			return
		}
		if broken, err := compiled.Validate(raw); err == nil && len(broken) > 0 {
			out = append(out, misfit{string(raw), why})
		}
	}
	if name := input.Get("required.0"); name.Type == gjson.String {
		try(fmt.Sprintf("without the required %q", name.Str), func(args map[string]any) { delete(args, name.Str) })
	}
	before := len(out)
	input.Get("properties").ForEach(func(name, _ gjson.Result) bool {
		// No lenient reader takes this for a string, a number or a boolean.
		try(fmt.Sprintf("with an object of our own for %q", name.String()), func(args map[string]any) {
			args[name.String()] = map[string]any{"mcpcheck": []any{nil}}
		})
		return len(out) == before
	})
	return out
}

// argumentsValidated accepts every form of refusedCall.
func argumentsValidated(t *check.T) {
	refused := refusals(t)
	for _, r := range refused {
		if m := r.answer.Message; m.Kind == wire.Result && complete(t, m) && !m.Result().Get("isError").Bool() {
			t.Mark(r.answer)
			t.Fail("an error, or a result with isError true", m.Summary(), "tool %q was called %s and succeeded", r.tool, r.why)
		}
	}
	if len(refused) == 0 {
		t.NotObserved("no tool with arguments that could be wrong may be called with wrong ones", "--allow-tools NAME,… allows it")
	}
}

// argumentsReported judges the form of a refusedCall: the page asks for a result,
// so that a model can correct itself.
func argumentsReported(t *check.T) {
	reported := false
	for _, r := range refusals(t) {
		m := r.answer.Message
		if m.Kind == wire.Error {
			t.Mark(r.answer)
			t.Fail("a result with isError true", m.Summary(), "tool %q was called %s, which was answered with a protocol error", r.tool, r.why)
		}
		reported = reported || m.Result().Get("isError").Bool()
	}
	if !reported {
		t.NotObserved("no call with wrong arguments was refused", "--allow-tools NAME,… allows such calls")
	}
}

// complete tells whether a result is the final one, not a request for input.
func complete(t *check.T, m wire.Message) bool {
	kind := m.Result().Get("resultType")
	return !t.Facts.ResultType || !kind.Exists() || kind.String() == "complete"
}

// nameCase calls tools by their name in another case, unless that is the name
// of another tool.
func nameCase(t *check.T) {
	tools := knownTools(t)
	names := map[string]bool{}
	for _, tool := range tools {
		names[tool.Get("name").String()] = true
	}
	for _, tool := range tools {
		name := tool.Get("name").String()
		other := swapCase(name)
		args := arguments(tool, 1)
		if names[other] || !t.MayAbuse(tool) || onlyAsTask(t, tool) || len(args) == 0 {
			continue
		}
		m := t.Request("tools/call", check.Params{"name": other, "arguments": json.RawMessage(args[0])})
		if m.Kind == wire.Result && !m.Result().Get("isError").Bool() {
			t.Fail("an unknown tool", m.Summary(), "the tool %q also answers to %q", name, other)
		}
		return
	}
	t.NotObserved("no tool may be called by an altered name", "--allow-tools NAME,… allows it")
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

// linksReadable leaves out links to the web, which a client fetches by itself
// (server/resources#common-uri-schemes).
func linksReadable(t *check.T) {
	if !t.Declares("resources") {
		t.NotObserved("resources is not declared", "")
	}
	c := called(t)
	read := map[string]bool{}
	for _, result := range c.results {
		for _, block := range result.answer.Message.Result().Get("content").Array() {
			uri := block.Get("uri").String()
			web := strings.HasPrefix(uri, "https:") || strings.HasPrefix(uri, "http:")
			if block.Get("type").String() != "resource_link" || uri == "" || web || read[uri] || len(read) == maxCalls {
				continue
			}
			read[uri] = true
			if m := t.Request("resources/read", check.Params{"uri": uri}); m.Kind != wire.Result {
				t.Fail("its contents", m.Summary(), "tool %q links to %s, which was read with %s", result.tool.Get("name").String(), wire.Clip(uri, 120), m.Summary())
			}
		}
	}
	if len(read) == 0 {
		t.NotObserved("no tool returned a link to a resource", allowHint(c.held))
	}
}
