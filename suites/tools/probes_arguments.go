package tools

import (
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
				out = append(out, invalidCall{c.tool.Get("name").String(), c.misfit, r.Entry})
			} else if unanswered++; t.Over() != nil || unanswered == toolcalls.MaxLate {
				break
			}
		}
		return out
	})
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
