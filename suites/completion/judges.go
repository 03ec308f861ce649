package completion

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of server/utilities/completion#completion-results.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "completion.result",
			Says:  "the result of completion/complete has an object completion with an array of strings, values",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"completion-result"},
			// completionResult leaves how many values there are to completionMost: only the
			// schema of 2026-07-28 bounds them.
			Judge: func(j *check.J) {
				transcript.EachCompleteResult(j, "CompleteResult", func(h transcript.Checked) {
					for _, v := range h.Broken {
						if v.Keyword != "maxItems" && transcript.PointerMatches(v.Place(), []string{"/completion", "/completion/values", "/completion/values/*"}) {
							j.Fail(h.Entry, "%s: %s", h.Name, v)
							return
						}
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "completion.values.most",
			Says:  "a completion has no more than 100 values",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"completion-max-100"},
			Judge: func(j *check.J) {
				eachCompletion(j, func(e wire.Entry, c gjson.Result) {
					switch n := len(c.Get("values").Array()); {
					case !c.Get("values").IsArray():
					case n > 100:
						j.Fail(e, "the completion has %d values", n)
					default:
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "completion.total",
			Says:  "the total of a completion is a number",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"completion-total-type"},
			// completionTotal only notes a number that counts nothing: the schema in
			// TypeScript has any number.
			Judge: func(j *check.J) {
				eachCompletion(j, func(e wire.Entry, c gjson.Result) {
					total := c.Get("total")
					switch {
					case !total.Exists():
						return
					case total.Type != gjson.Number:
						j.Fail(e, "the total of the completion is %s, not a number", wire.TypeName(total))
						return
					case !wire.IsInteger(total) || total.Num < 0:
						j.Note("the total of a completion is %s", wire.Clip(total.Raw, 20))
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "completion.has-more",
			Says:  "hasMore of a completion is a boolean",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"completion-has-more-type"},
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "CompleteResult", "completion.hasMore", []string{"/completion/hasMore"})
			},
		},
	}
}

// eachCompletion gives the completions that are objects.
func eachCompletion(j *check.J, look func(e wire.Entry, completion gjson.Result)) {
	transcript.EachResult(j, "completion/complete", func(e wire.Entry, _ wire.Message, result gjson.Result) {
		if c := result.Get("completion"); c.IsObject() {
			look(e, c)
		}
	})
}
