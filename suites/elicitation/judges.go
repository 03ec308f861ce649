package elicitation

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

const createElicitation = "elicitation/create"

// The reasons why several judges are not observed, and what helps.
const (
	noForm    = "the server elicited no form"
	offerForm = "offer a read-only tool that elicits a form" + check.OrAllow
)

// judges returns the judges of client/elicitation: of requests of the server and of
// entries of input_required results.
func judges() []check.Check {
	return slices.Concat(requestShapes(), fieldJudges(), modeJudges(), formJudges(), urlJudges(), completionJudges(),
		requiredJudges())
}

// modeJudges returns the judges of the modes that a client declares.
// lifecycle.capabilities.undeclared and lifecycle.input.declared judge a client
// without elicitation.
func modeJudges() []check.Check {
	return []check.Check{
		{
			ID:    "elicitation.mode.declared",
			Says:  "the server elicits only in modes that the client declares; a client without modes has form mode",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"elicitation-unsupported-mode-not-sent", "elicitation-empty-capability-form"},
			Idle:  noElicitation,
			Hint:  offerForm,
			Judge: func(j *check.J) {
				check.Each(j, transcript.InputRequests(j, createElicitation), func(a transcript.InputRequest) bool {
					declared, mode := a.Client(j).Get("elicitation"), a.Params().Value.Get("mode").String()
					if mode == "" {
						mode = "form"
					}
					if !declared.Exists() || mode != "form" && mode != "url" {
						return false
					}
					hasFormByDefault := mode == "form" && !declared.Get("url").Exists()
					if !declared.Get(mode).Exists() && !hasFormByDefault {
						j.Fail(a.Entry, "%s has the mode %s, and the client declares elicitation %s",
							a.Name, mode, wire.Clip(declared.Raw, 80))
					}
					return true
				})
			},
		},
	}
}

// requestShapes returns the judges of the shape of elicitation/create.
func requestShapes() []check.Check {
	return transcript.ShapeChecks([]transcript.ShapeCheck{
		{
			Check: check.Check{
				ID:    "elicitation.request.params",
				Says:  "elicitation/create has a string message, and a mode of the revision",
				In:    spec.Since(spec.V2025_06_18),
				Rules: []string{"elicitation-request-params"},
				Idle:  noElicitation,
				Hint:  offerForm,
			},
			Method: createElicitation,
		},
		{
			Check: check.Check{
				ID:    "elicitation.schema.object",
				Says:  "the requestedSchema of a form has the type object and properties",
				In:    spec.Since(spec.V2025_06_18),
				Rules: []string{"elicitation-schema-object"},
				Idle:  noForm,
				Hint:  offerForm,
			},
			Method: createElicitation,
			Has:    []string{"requestedSchema"},
			Places: []string{
				"/params/requestedSchema", "/params/requestedSchema/type", "/params/requestedSchema/properties",
				"/params/requestedSchema/required/**", "/params/requestedSchema/$schema",
			},
		},
		{
			Check: check.Check{
				ID:    "elicitation.url.params",
				Says:  "an elicitation in URL mode has a url, and an elicitationId if the revision has one",
				In:    spec.Since(spec.V2025_11_25),
				Rules: []string{"elicitation-url-params"},
				Idle:  noVisit,
				Hint:  offerVisit,
			},
			Method: createElicitation,
			Has:    []string{"url"},
			Places: []string{"/params/url", "/params/elicitationId"},
		},
	}, []string{"/params/requestedSchema/properties/*/**"}) // elicitation.schema.*
}

// forms returns the elicitations in form mode.
func forms(j *check.J) []transcript.InputRequest {
	return transcript.Filter(transcript.InputRequests(j, createElicitation), func(a transcript.InputRequest) bool {
		return !isVisit(a)
	})
}
