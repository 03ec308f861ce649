package batching

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// judges returns the judges of basic/index#batching, which only 2025-03-26 has.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "batching.element.kinds",
			Says:  "a batch holds requests and notifications, or responses, never both",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_03_26),
			Rules: []string{"batching-element-types"},
			Idle:  "no batch was sent",
			Hint:  answerBatches,
			// An empty array holds neither kind and is no subject.
			Judge: func(j *check.J) {
				check.Each(j, j.Entries(), func(e wire.Entry) bool {
					if e.From != j.Of || e.Message.Kind != wire.Batch {
						return false
					}
					responses, others := 0, 0
					for _, m := range e.Message.Elements() {
						if m.IsResponse() {
							responses++
						} else {
							others++
						}
					}
					if responses > 0 && others > 0 {
						j.Fail(e, "an array holds %d responses and %d other messages", responses, others)
					}
					return responses+others > 0
				})
			},
		},
	}
}
