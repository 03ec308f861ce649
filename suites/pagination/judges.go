package pagination

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// listMethods are the requests whose results have pages.
var listMethods = []string{
	"tools/list", "prompts/list", "resources/list", "resources/templates/list", "tasks/list",
}

// judges returns the judges of server/utilities/pagination.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "pagination.next-cursor.string",
			Says:  "nextCursor is a string; a last page has none",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"pagination-next-cursor-string"},
			Idle:  "no list result has a nextCursor",
			Hint:  offerPages,
			Judge: func(j *check.J) {
				for _, method := range listMethods {
					check.Each(j, transcript.Results(j, method), func(r transcript.Answered) bool {
						next := r.Result.Get("nextCursor")
						if next.Exists() && next.Type != gjson.String {
							j.Fail(r.Answer, "nextCursor in the result of %s is %s, not a string", method,
								wire.TypeName(next))
						}
						return next.Type == gjson.String
					})
				}
			},
		},
	}
}
