package elicitation

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// urlRequired are the judges of the error by which a server refuses a request
// until a page was visited (client/elicitation#url-elicitation-required-error,
// in 2025-11-25; that later revisions forbid it is judged with the codes).
func urlRequired() []check.Check {
	of := func(c check.Check) check.Check {
		c.Level, c.In = spec.Must, spec.Only(spec.V2025_11_25)
		return c
	}
	return []check.Check{
		of(check.Check{
			ID:    "elicitation.required.code",
			Says:  "an error that lists elicitations to be completed has the code -32042",
			Rules: []string{"elicitation-url-required-error-code"},
			Judge: func(j *check.J) {
				for _, e := range transcript.ErrorResponses(j) {
					list := e.Message.Error().Get("data.elicitations")
					if !list.IsArray() || list.Get("0.mode").String() != "url" {
						continue
					}
					if code, _ := e.Message.Code(); code != spec.LegacyURLElicitationError {
						j.Fail(e, "an error with elicitations to be completed has the code %d", code)
						continue
					}
					j.Saw()
				}
			},
		}),
		of(check.Check{
			ID:    "elicitation.required.only",
			Says:  "error -32042 is given only where an elicitation can be required",
			Rules: []string{"elicitation-url-required-error-only-then"},
			// requiredOnly takes it for granted that discovery, lists and the like need no
			// visit of a page, and that an empty list requires nothing.
			Judge: func(j *check.J) {
				required(j, func(e wire.Entry) {
					r, ok := j.RequestOf(e)
					if !ok {
						return
					}
					method, list := r.Message.Method(), e.Message.Error().Get("data.elicitations")
					switch {
					case slices.Contains([]string{"initialize", "ping", "logging/setLevel"}, method), strings.HasSuffix(method, "/list"):
						j.Fail(e, "%s was answered with -32042", method)
					case list.IsArray() && len(list.Array()) == 0:
						j.Fail(e, "%s was answered with -32042, which lists no elicitation", wire.Clip(method, 80))
					default:
						j.Saw()
					}
				})
			},
		}),
		of(check.Check{
			ID:    "elicitation.required.list",
			Says:  "error -32042 lists the elicitations that are required",
			Rules: []string{"elicitation-url-required-error-list"},
			Judge: func(j *check.J) {
				required(j, func(e wire.Entry) {
					if list := e.Message.Error().Get("data.elicitations"); !list.IsArray() {
						j.Fail(e, "data.elicitations of error -32042 is %s, not an array", wire.TypeName(list))
						return
					}
					j.Saw()
				})
			},
		}),
		of(check.Check{
			ID:    "elicitation.required.entries",
			Says:  "the elicitations that error -32042 lists are of URL mode and have an elicitationId",
			Rules: []string{"elicitation-url-required-error-url-mode"},
			Judge: func(j *check.J) {
				required(j, func(e wire.Entry) {
					list := e.Message.Error().Get("data.elicitations")
					if !list.IsArray() {
						return // elicitation.required.list
					}
					for _, v := range list.Array() {
						if broken := schema.For(j.Rev).Validate("ElicitRequestURLParams", []byte(v.Raw)); len(broken) > 0 {
							j.Fail(e, "data.elicitations of error -32042 holds %s: %s", wire.Clip(v.Raw, 80), broken[0])
							return
						}
						j.Saw()
					}
				})
			},
		}),
	}
}

// required gives the errors -32042.
func required(j *check.J, look func(e wire.Entry)) {
	for _, e := range transcript.ErrorResponses(j) {
		if code, _ := e.Message.Code(); code == spec.LegacyURLElicitationError {
			look(e)
		}
	}
}
