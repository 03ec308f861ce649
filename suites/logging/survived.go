package logging

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
			ID: "logging.level.survived",
			Says: "the server answers logging/setLevel with a level of the page and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Handshake,
			Needs:       "logging",
			Spec:        "server/utilities/logging#setting-log-level",
			ChargedWith: "logging/setLevel",
			Idle:        "no logging/setLevel had a result",
			Hint:        "answer logging/setLevel with a result",
			Judge:       func(j *check.J) { transcript.SawResults(j, "logging/setLevel") },
		},
	}
}
