package lifecycle

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// survivalJudges returns the checks that report a server that ends on valid
// requests of a method, whatever check sends them.
func survivalJudges() []check.Check {
	return []check.Check{
		{
			ID: "lifecycle.initialize.survived",
			Says: "the server answers initialize at the revision that it speaks and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Handshake,
			Spec:        "basic/lifecycle#initialization",
			ChargedWith: "initialize",
			Idle:        "no initialize had a result",
			Hint:        expect.HintReply,
			Judge:       func(j *check.J) { transcript.SawResults(j, "initialize") },
		},
		{
			ID:          "lifecycle.initialized.survived",
			Says:        "the server goes on after notifications/initialized, which every client sends",
			Level:       spec.Robust,
			In:          spec.Handshake,
			Spec:        "basic/lifecycle#initialization",
			ChargedWith: "notifications/initialized",
			Idle:        "nothing was answered after notifications/initialized",
			Hint:        expect.HintReply,
			Judge: func(j *check.J) {
				open := false
				for _, e := range j.Entries() {
					switch {
					case e.From == wire.Client && e.Message.Method() == "notifications/initialized":
						open = true
					case open && e.From == wire.Server && e.Message.IsResponse():
						j.Saw()
						return
					}
				}
			},
		},
	}
}
