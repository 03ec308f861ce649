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

// A refusedCall is what came of a call with arguments that do not fit.
type refusedCall struct {
	tool   string
	misfit schema.Misfit
	answer wire.Entry
}

var invalidArgumentsKey = check.NewKey[[]refusedCall]("invalid arguments")

// refusals calls tools with invalid arguments, once at this revision.
func refusals(t *check.T) []refusedCall {
	return check.Once(t, invalidArgumentsKey, func() []refusedCall {
		var out []refusedCall
		late := 0
		for _, c := range chosenMisfits(t) {
			e, err := t.Try("tools/call", offer.CallParams(c.tool, string(c.misfit.JSON))).Get()
			if err == nil {
				out = append(out, refusedCall{c.tool.Get("name").String(), c.misfit, e})
			} else if late++; t.Over() != nil || late == toolcalls.MaxLate {
				break // that requests are answered has checks of its own
			}
		}
		return out
	})
}

type toolMisfit struct {
	tool   gjson.Result
	misfit schema.Misfit
}

// chosenMisfits chooses among the misfits of all tools that may be abused.
func chosenMisfits(t *check.T) []toolMisfit {
	var all []toolMisfit
	seen := 0
	for _, tool := range offer.Tools(t) {
		if !t.Config().MaySendInvalid(tool) || offer.OnlyAsTask(t, tool) || check.Has(t, offer.SlowTool(tool)) || seen == offer.ToolsMisfitted {
			continue
		}
		seen++
		for _, m := range offer.Misfits(t, tool) {
			all = append(all, toolMisfit{tool, m})
		}
	}
	return choose(all)
}

// choose takes the misfit of whose kind fewest were taken, of the tool of which
// fewest were taken, and so on. What a server may put right comes once for each
// kind, and last.
func choose(all []toolMisfit) []toolMisfit {
	var out []toolMisfit
	taken := make([]bool, len(all))
	kinds, tools := map[string]int{}, map[string]int{}
	for len(out) < offer.MaxMisfits {
		best, least := -1, [3]int{}
		for i, c := range all {
			kind, name := kindOfMisfit(c.misfit), c.tool.Get("name").String()
			if taken[i] || tools[name] >= offer.MaxMisfitsPerTool || c.misfit.Mends && kinds[kind] > 0 {
				continue
			}
			rank := [3]int{0, kinds[kind], tools[name]}
			if c.misfit.Mends {
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
		kinds[kindOfMisfit(all[best].misfit)]++
		tools[all[best].tool.Get("name").String()]++
	}
	return out
}

// kindOfMisfit tells apart what is commonly validated by other code: members
// from what is nested in them, and what holds always from what holds in a
// branch.
func kindOfMisfit(m schema.Misfit) string {
	kind := m.Keyword + " " + m.Under
	if strings.Count(m.Path, "/") > 1 {
		kind = "nested " + kind
	}
	if m.Mends {
		kind = "mended " + kind
	}
	return kind
}
