package elicitation

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
)

// noElicitation is why several probes are not observed.
const noElicitation = "the server elicited nothing"

// probes returns the probes of client/elicitation. Judges judge the shape of
// requests.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "elicitation.actions",
			Says:  "the server answers a request that elicits if the user declines or cancels",
			Level: spec.Should,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"elicitation-server-handles-actions"},
			Idle:  noElicitation,
			Hint:  offerForm,
			Probe: func(t *check.T) { expectActionsHandled(t) },
		},
		{
			ID:    "elicitation.failures",
			Says:  "the server answers a request that elicits if the user declines or cancels",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"elicitation-server-handles-failure"},
			Idle:  noElicitation,
			Hint:  offerForm,
			Probe: func(t *check.T) { expectActionsHandled(t) },
		},
		{
			ID:       "elicitation.content.validated",
			Says:     "the server does not use content of a form that is not valid against the requestedSchema",
			Level:    spec.Should,
			In:       spec.Since(spec.V2025_06_18),
			Rules:    []string{"elicitation-validate-content"},
			Idle:     "no result shows whether the server used the content of a form",
			Hint:     "offer a read-only tool that elicits a form and returns its content" + check.OrAllow,
			Malforms: true,
			// Any form of refusal is right. Content that only lacks a field is not sent: a tool
			// may do without it. elicitation.answers.survived judges a missing answer.
			Probe: func(t *check.T) {
				tried := false
				for _, a := range asking.TriggersFor(t, asking.Elicit) {
					for _, ask := range a.RequestsOf(asking.Elicit) {
						requested := ask.Params.Get("requestedSchema")
						content, why := asking.InvalidForm(requested)
						if content == nil {
							continue
						}
						tried = true
						asking.AnswerWith(t, asking.Elicit, answerForm(requested, content))
						r := t.Client().Invoke(a.Method, a.Params)
						if r.Err != nil {
							continue
						}
						var count asking.AnswerCount
						count.Count(t, r.Message)
						if count.Used > 0 {
							t.Mark(r.Entry)
							t.Fail("a failure of the request", r.Message.Summary(),
								"%s elicited, and used content with %s", a, why)
						}
						if count.Refused > 0 {
							t.Saw()
						}
					}
				}
				if !tried {
					t.NotObserved("the server elicited no form whose content could be invalid",
						"elicit a form with a required field, or with a field of the type number")
				}
			},
		},
		{
			ID:       "elicitation.answers.survived",
			Says:     "the server survives any answer to elicitation/create, as users refuse and clients fail",
			Level:    spec.Robust,
			In:       spec.Handshake & spec.Since(spec.V2025_06_18),
			Spec:     "client/elicitation#response-actions",
			Idle:     noElicitation,
			Hint:     offerForm,
			Malforms: true,
			Probe: func(t *check.T) {
				expect.SurvivesUnexpectedAnswers(t, asking.Elicit)
				t.Saw()
			},
		},
	}
}

// expectActionsHandled declines and cancels elicitations. Any answer is right: what a
// tool does without the input is its own choice.
func expectActionsHandled(t *check.T) {
	const most = 3
	askers := asking.TriggersFor(t, asking.Elicit)
	for _, a := range askers[:min(len(askers), most)] {
		for _, action := range []string{"decline", "cancel"} {
			asking.AnswerWith(t, asking.Elicit, func(check.HostRequest) check.HostReply {
				return check.HostReply{Result: check.Params{"action": action}}
			})
			if err := t.Client().Invoke(a.Method, a.Params).Err; err != nil {
				t.Fail("an answer to "+a.Method, err.Error(), "%s elicited, the user answered %s: %v", a, action, err)
			}
			t.Saw()
		}
	}
	t.Survives("elicitations that were declined or cancelled")
}

// answerForm returns a function that accepts the form of a schema with the given
// content, and any other form with valid content.
func answerForm(requested gjson.Result, content []byte) func(check.HostRequest) check.HostReply {
	return func(asked check.HostRequest) check.HostReply {
		if asked.Params.Get("requestedSchema").Raw != requested.Raw {
			return acceptForm(asked)
		}
		return accept(content)
	}
}

// acceptForm accepts a form with valid content; it declines a form for which none can
// be made.
func acceptForm(a check.HostRequest) check.HostReply {
	content, err := schema.SampleArguments([]byte(a.Params.Get("requestedSchema").Raw))
	if err != nil {
		return check.HostReply{Result: check.Params{"action": "decline"}}
	}
	return accept(content)
}

// accept returns the answer of a user who accepts with content.
func accept(content []byte) check.HostReply {
	return check.HostReply{Result: check.Params{"action": "accept", "content": json.RawMessage(content)}}
}
