package tools

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// survivalJudges returns the checks that report a server that ends on valid
// requests of a method, whatever check sends them.
func survivalJudges() []check.Check {
	return []check.Check{
		{
			ID: "tools.list.survived",
			Says: "the server answers tools/list and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Every,
			Needs:       "tools",
			Spec:        "server/tools#listing-tools",
			ChargedWith: "tools/list",
			Idle:        "no tools/list had a result",
			Hint:        "offer tools, and answer tools/list",
			Judge:       func(j *check.J) { transcript.SawResults(j, "tools/list") },
		},
		{
			ID: "tools.call.survived",
			Says: "the server answers tools/call with arguments that fit the inputSchema and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Every,
			Needs:       "tools",
			Spec:        "server/tools#calling-tools",
			ChargedWith: "tools/call",
			Idle:        "no tools/call had a result",
			Hint:        "offer a read-only tool" + check.OrAllow,
			Judge:       func(j *check.J) { transcript.SawResults(j, "tools/call") },
		},
	}
}
