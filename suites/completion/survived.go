package completion

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
			ID: "completion.request.survived",
			Says: "the server answers completion/complete for a listed argument and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Every,
			Spec:        "server/utilities/completion#requesting-completions",
			ChargedWith: "completion/complete",
			Idle:        "no completion/complete had a result",
			Hint:        "declare completions, and list a prompt with arguments or a resource template with variables",
			Judge:       func(j *check.J) { transcript.SawResults(j, "completion/complete") },
		},
	}
}
