package prompts

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
			ID: "prompts.list.survived",
			Says: "the server answers prompts/list and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Every,
			Needs:       "prompts",
			Spec:        "server/prompts#listing-prompts",
			ChargedWith: "prompts/list",
			Idle:        "no prompts/list had a result",
			Hint:        "offer prompts, and answer prompts/list",
			Judge:       func(j *check.J) { transcript.SawResults(j, "prompts/list") },
		},
		{
			ID: "prompts.get.survived",
			Says: "the server answers prompts/get with the name of a listed prompt and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Every,
			Needs:       "prompts",
			Spec:        "server/prompts#getting-a-prompt",
			ChargedWith: "prompts/get",
			Idle:        "no prompts/get had a result",
			Hint:        offerUsable,
			Judge:       func(j *check.J) { transcript.SawResults(j, "prompts/get") },
		},
	}
}
