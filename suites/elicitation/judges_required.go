package elicitation

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// Why several judges are not observed, and what helps.
const (
	noRequiredError = "the server sent no error -32042"
	requireVisit    = "offer a read-only tool that answers with error -32042 until the client has visited a URL"
)

// requiredJudges returns the judges of the error by which a server refuses a request
// until the user has visited a page (2025-11-25,
// client/elicitation#url-elicitation-required-error). Judges of error codes judge that
// later revisions forbid it.
func requiredJudges() []check.Check {
	return []check.Check{
		{
			ID:    "elicitation.required.code",
			Says:  "an error that lists elicitations in URL mode has the code -32042",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"elicitation-url-required-error-code"},
			Idle:  "the server sent no error that lists elicitations",
			Hint:  requireVisit,
			Judge: func(j *check.J) {
				check.Each(j, transcript.ErrorResponses(j), func(e wire.Entry) bool {
					list := elicitationsOf(e)
					if !list.IsArray() || list.Get("0.mode").String() != "url" {
						return false
					}
					if code, _ := e.Message.ErrorCode(); code != spec.LegacyURLElicitationError {
						j.Fail(e, "an error that lists elicitations has the code %d", code)
					}
					return true
				})
			},
		},
		{
			ID:    "elicitation.required.only",
			Says:  "the server sends error -32042 only if an elicitation is required",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"elicitation-url-required-error-only-then"},
			Idle:  noRequiredError,
			Hint:  requireVisit,
			// Discovery, lists and the like need no visit of a page, and an empty list
			// requires nothing.
			Judge: func(j *check.J) {
				check.Each(j, requiredErrors(j), func(e wire.Entry) bool {
					r, ok := j.RequestOf(e)
					if !ok {
						return false
					}
					method, list := r.Message.Method(), elicitationsOf(e)
					isPlain := slices.Contains([]string{"initialize", "ping", "logging/setLevel"}, method)
					switch {
					case isPlain, strings.HasSuffix(method, "/list"):
						j.Fail(e, "%s was answered with -32042", method)
					case list.IsArray() && len(list.Array()) == 0:
						j.Fail(e, "%s was answered with -32042, which lists no elicitation", wire.Clip(method, 80))
					}
					return true
				})
			},
		},
		{
			ID:    "elicitation.required.list",
			Says:  "error -32042 lists the required elicitations",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"elicitation-url-required-error-list"},
			Idle:  noRequiredError,
			Hint:  requireVisit,
			Judge: func(j *check.J) {
				check.Each(j, requiredErrors(j), func(e wire.Entry) bool {
					if list := elicitationsOf(e); !list.IsArray() {
						j.Fail(e, "data.elicitations of error -32042 is %s, not an array", wire.TypeName(list))
					}
					return true
				})
			},
		},
		{
			ID:    "elicitation.required.entries",
			Says:  "the elicitations of error -32042 are in URL mode and have an elicitationId",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"elicitation-url-required-error-url-mode"},
			Idle:  "the server sent no error -32042 that lists an elicitation",
			Hint:  requireVisit,
			// elicitation.required.list judges a list that is no array.
			Judge: func(j *check.J) {
				for _, e := range requiredErrors(j) {
					list := elicitationsOf(e)
					if !list.IsArray() {
						continue
					}
					check.Each(j, list.Array(), func(v gjson.Result) bool {
						broken := schema.For(j.Rev).Validate("ElicitRequestURLParams", []byte(v.Raw))
						if len(broken) > 0 {
							j.Fail(e, "data.elicitations of error -32042 holds %s: %s", wire.Clip(v.Raw, 80), broken[0])
						}
						return true
					})
				}
			},
		},
	}
}

// requiredErrors returns the errors -32042.
func requiredErrors(j *check.J) []wire.Entry {
	return transcript.Filter(transcript.ErrorResponses(j), func(e wire.Entry) bool {
		code, _ := e.Message.ErrorCode()
		return code == spec.LegacyURLElicitationError
	})
}

// elicitationsOf returns the elicitations that an error lists.
func elicitationsOf(e wire.Entry) gjson.Result { return e.Message.Error().Get("data.elicitations") }
