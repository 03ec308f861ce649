package pagination

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of server/utilities/pagination.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "pagination.next-cursor.string",
			Says:  "nextCursor is a string; a last page has none",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"pagination-next-cursor-string"},
			Judge: func(j *check.J) {
				for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list", "tasks/list"} {
					transcript.EachResult(j, method, func(e wire.Entry, _ wire.Message, result gjson.Result) {
						switch next := result.Get("nextCursor"); {
						case !next.Exists():
						case next.Type != gjson.String:
							j.Fail(e, "nextCursor in the result of %s is %s, not a string", method, wire.TypeName(next))
						default:
							j.Saw()
						}
					})
				}
			},
		},
	}
}
