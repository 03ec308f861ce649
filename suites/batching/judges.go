package batching

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// judges are the judges of basic/index#batching, which only 2025-03-26 has.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "batching.element.kinds",
			Says:  "a batch holds requests and notifications, or responses, never both",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_03_26),
			Rules: []string{"batching-element-types"},
			// batchElementKinds leaves out empty arrays, which hold neither.
			Judge: func(j *check.J) {
				for _, e := range j.Entries() {
					if e.From != j.Of || e.Message.Kind != wire.Batch {
						continue
					}
					responses, others := 0, 0
					for _, m := range e.Message.Elements() {
						if m.IsResponse() {
							responses++
						} else {
							others++
						}
					}
					switch {
					case responses > 0 && others > 0:
						j.Fail(e, "an array holds %d responses and %d other messages", responses, others)
					case responses+others > 0:
						j.Saw()
					}
				}
			},
		},
	}
}
