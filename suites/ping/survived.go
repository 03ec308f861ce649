package ping

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// survivalJudges returns the checks that report a server that ends on valid
// requests of a method, whatever check sends them.
func survivalJudges() []check.Check {
	return []check.Check{
		{
			ID: "ping.survived",
			Says: "the server answers ping and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Handshake,
			Spec:        "basic/utilities/ping#behavior-requirements",
			ChargedWith: "ping",
			Idle:        "no ping had a result",
			Hint:        expect.HintReply,
			Judge:       func(j *check.J) { transcript.SawResults(j, "ping") },
		},
	}
}
