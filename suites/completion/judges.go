package completion

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// noCompletion is why several judges are not observed.
const noCompletion = "the server returned no completion"

// judges returns the judges of server/utilities/completion#completion-results.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "completion.result",
			Says:  "the result of completion/complete has an object completion whose values are an array of strings",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"completion-result"},
			Idle:  noCompletion,
			Hint:  "declare completions, and list a prompt with arguments or a resource template with variables",
			// completion.values.most judges the number of values in every revision; only the
			// schema of 2026-07-28 limits it.
			Judge: func(j *check.J) {
				places := []string{"/completion", "/completion/values", "/completion/values/*"}
				check.Each(j, transcript.CompleteResults(j, "CompleteResult"), func(h transcript.Validated) bool {
					for _, v := range h.Violations {
						if v.Keyword != "maxItems" && transcript.PointerMatches(v.Pointer(), places) {
							j.Fail(h.Entry, "%s: %s", h.Name, v)
							break
						}
					}
					return true
				})
			},
		},
		{
			ID:    "completion.values.most",
			Says:  "a completion has no more than 100 values",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"completion-max-100"},
			Idle:  noCompletion,
			Hint:  "declare completions, and list a prompt with arguments or a resource template with variables",
			Judge: func(j *check.J) {
				check.Each(j, completions(j), func(c completion) bool {
					values := c.value.Get("values")
					if n := len(values.Array()); values.IsArray() && n > 100 {
						j.Fail(c.answer, "the completion has %d values", n)
					}
					return values.IsArray()
				})
			},
		},
		{
			ID:    "completion.total",
			Says:  "the total of a completion is a number",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"completion-total-type"},
			Idle:  "no completion has a total",
			Hint:  "give total in the results of completion/complete",
			// A total that is no count is only noted: schema.ts allows any number.
			Judge: func(j *check.J) {
				check.Each(j, completions(j), func(c completion) bool {
					total := c.value.Get("total")
					switch {
					case !total.Exists():
						return false
					case total.Type != gjson.Number:
						j.Fail(c.answer, "the total of the completion is %s, not a number", wire.TypeName(total))
					case !wire.IsInteger(total) || total.Num < 0:
						j.Note("the total of a completion is %s", wire.Clip(total.Raw, 20))
					}
					return true
				})
			},
		},
		{
			ID:    "completion.has-more",
			Says:  "hasMore of a completion is a boolean",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"completion-has-more-type"},
			Idle:  "no completion has hasMore",
			Hint:  "give hasMore in the results of completion/complete",
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "CompleteResult", "completion.hasMore", []string{"/completion/hasMore"})
			},
		},
	}
}

// A completion is the object completion of a result, with the answer that holds it.
type completion struct {
	answer wire.Entry
	value  gjson.Result
}

// completions returns the completions that are objects.
func completions(j *check.J) []completion {
	var out []completion
	for _, r := range transcript.Results(j, "completion/complete") {
		if c := r.Result.Get("completion"); c.IsObject() {
			out = append(out, completion{r.Answer, c})
		}
	}
	return out
}
