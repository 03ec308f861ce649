package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// An invalidCall is the answer to a call with arguments that break the inputSchema.
type invalidCall struct {
	tool   string
	misfit schema.InvalidArguments
	answer wire.Entry

	control wire.Message // the answer to valid arguments; the zero Message for none
}

// mayRefuseInText reports whether the content of the result may tell that the call
// failed: it is another than that of valid arguments. No text is interpreted.
func (c invalidCall) mayRefuseInText() bool {
	m := c.answer.Message
	return !m.Result().Get("structuredContent").Exists() && c.control.Kind == wire.Result &&
		!sameContent(m, "", c.control, "")
}

// sameContent reports whether two results have the same content, each but for a name in
// it.
func sameContent(a wire.Message, name string, b wire.Message, other string) bool {
	return b.Kind == wire.Result && a.Result().Get("isError").Bool() == b.Result().Get("isError").Bool() &&
		without(a, name) == without(b, other)
}

// without returns the content of a result without a name; "" for none.
func without(m wire.Message, name string) string {
	return strings.ReplaceAll(m.Result().Get("content").Raw, name, "")
}

// quoteContent returns the first text of a result in quotes, or a summary of it.
func quoteContent(m wire.Message) string {
	if text := m.Result().Get(`content.#(type=="text").text`); text.Type == gjson.String {
		return fmt.Sprintf("a result with the text %q", wire.Clip(text.String(), 120))
	}
	return m.Summary()
}

var invalidCallsKey = check.NewKey[[]invalidCall]("calls with invalid arguments")

// invalidCalls calls tools with invalid arguments, once at this revision. It leaves
// out calls without an answer: other checks judge whether requests are answered.
func invalidCalls(t *check.T) []invalidCall {
	return check.Once(t, invalidCallsKey, func() []invalidCall {
		var out []invalidCall
		unanswered := 0
		for _, c := range misfitsToSend(t) {
			r := t.Try("tools/call", offer.CallParams(c.tool, string(c.misfit.JSON)))
			if r.Err == nil {
				one := invalidCall{tool: c.tool.Get("name").String(), misfit: c.misfit, answer: r.Entry}
				if check.Succeeded(t, r.Message) {
					one.control = control(t, c)
				}
				out = append(out, one)
			} else if unanswered++; t.Over() != nil || unanswered == toolcalls.MaxLate {
				break
			}
		}
		return out
	})
}

// control returns the result of a tool for the valid arguments that invalid ones were
// made from; the zero Message if the call fails.
func control(t *check.T, c toolMisfit) wire.Message {
	m, ok := t.Try("tools/call", offer.CallParams(c.tool, string(c.misfit.Base))).Answer()
	if !ok || !check.Succeeded(t, m) {
		return wire.Message{}
	}
	return m
}

// A toolMisfit is invalid arguments for a tool.
type toolMisfit struct {
	tool   gjson.Result
	misfit schema.InvalidArguments
}

// misfitsToSend returns invalid arguments for the tools that may be called with them.
func misfitsToSend(t *check.T) []toolMisfit {
	var all []toolMisfit
	tools := 0
	for _, tool := range offer.Tools(t) {
		if !t.Config().MaySendInvalid(tool) || offer.RequiresTask(t, tool) || check.HasTrait(t, offer.SlowTool(tool)) {
			continue
		}
		if tools++; tools > offer.MaxToolsCalledInvalidly {
			break
		}
		for _, m := range offer.InvalidArguments(t, tool) {
			all = append(all, toolMisfit{tool, m})
		}
	}
	return chooseMisfits(all)
}

// chooseMisfits chooses among the misfits of all tools: each time one of the kind, and
// among these of the tool, of which fewest were chosen. Those that a server may repair
// come last, and once for each kind.
func chooseMisfits(all []toolMisfit) []toolMisfit {
	var out []toolMisfit
	taken := make([]bool, len(all))
	kindOf, nameOf := make([]string, len(all)), make([]string, len(all))
	for i, c := range all {
		kindOf[i], nameOf[i] = kindOfMisfit(c.misfit), c.tool.Get("name").String()
	}
	kinds, tools := map[string]int{}, map[string]int{}
	for len(out) < offer.MaxInvalidCalls {
		best, least := -1, [3]int{}
		for i, c := range all {
			kind, name := kindOf[i], nameOf[i]
			if taken[i] || tools[name] >= offer.MaxInvalidCallsPerTool || c.misfit.Repairable && kinds[kind] > 0 {
				continue
			}
			rank := [3]int{0, kinds[kind], tools[name]}
			if c.misfit.Repairable {
				rank[0] = 1
			}
			if best < 0 || slices.Compare(rank[:], least[:]) < 0 {
				best, least = i, rank
			}
		}
		if best < 0 {
			break
		}
		taken[best] = true
		out = append(out, all[best])
		kinds[kindOf[best]]++
		tools[nameOf[best]]++
	}
	return out
}

// kindOfMisfit returns a name for the code that commonly validates a misfit: different
// code validates members and what is nested in them, and what holds always and what
// holds in a branch.
func kindOfMisfit(m schema.InvalidArguments) string {
	kind := m.Keyword + " " + m.Combinator
	if strings.Count(m.Path, "/") > 1 {
		kind = "nested " + kind
	}
	if m.Repairable {
		kind = "mended " + kind
	}
	return kind
}
