package elicitation

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
)

// probes are the probes of client/elicitation. The shape of requests is
// judged in every session.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "elicitation.actions",
			Says:  "a request that elicits is answered when the user accepts, declines and cancels",
			Level: spec.Should,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"elicitation-server-handles-actions"},
			Probe: func(t *check.T) { actionsHandled(t) },
		},
		{
			ID:    "elicitation.failures",
			Says:  "a request that elicits is answered when the user declines and cancels",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"elicitation-server-handles-failure"},
			Probe: func(t *check.T) { actionsHandled(t) },
		},
		{
			ID:       "elicitation.content.validated",
			Says:     "content of a form that does not fit the requestedSchema is not used",
			Level:    spec.Should,
			In:       spec.Since(spec.V2025_06_18),
			Rules:    []string{"elicitation-validate-content"},
			Malforms: true,
			// contentValidated accepts any form of refusal. Content that merely lacks a
			// field is not tried: a tool may well do without.
			Probe: func(t *check.T) {
				var u asking.UnusableCount
				tried := false
				for _, a := range asking.AskersFor(t, asking.Elicit) {
					for _, ask := range a.Of(asking.Elicit) {
						content, why := asking.MisfitForm(ask.Params.Get("requestedSchema"))
						if content == nil {
							continue
						}
						tried = true
						asking.Answering(t, asking.Elicit, func(asked check.Asked) check.ClientAnswer {
							if asked.Params.Get("requestedSchema").Raw != ask.Params.Get("requestedSchema").Raw {
								return acceptForm(asked)
							}
							return check.ClientAnswer{Result: check.Params{"action": "accept", "content": json.RawMessage(content)}}
						})
						e, err := t.Client().Invoke(a.Method, a.Params).Get()
						if err != nil {
							continue // elicitation.answers.survived
						}
						if u.Take(t, e.Message); u.Used > 0 {
							t.Mark(e)
							t.Fail("a failure of the request", e.Message.Summary(), "%s elicited, and used content with %s", a, why)
						}
					}
				}
				switch {
				case !tried:
					t.NotObserved("no form was asked for whose content could be wrong", "")
				case u.Refused == 0:
					t.NotObserved("what was filled in to a form did not show in any result", "")
				}
			},
		},
		{
			ID:       "elicitation.answers.survived",
			Says:     "a request that elicits is answered whatever the client answers, and the server lives",
			Level:    spec.Robust,
			In:       spec.Handshake & spec.Since(spec.V2025_06_18),
			Spec:     "client/elicitation#response-actions",
			Malforms: true,
			Probe:    func(t *check.T) { expect.AnswersSurvived(t, asking.Elicit) },
		},
	}
}

// actionsHandled takes any answer for a fitting one: what a tool does without
// what it asked for is its own affair.
func actionsHandled(t *check.T) {
	list := asking.AskersFor(t, asking.Elicit)
	for _, a := range list[:min(len(list), 3)] {
		for _, action := range []string{"decline", "cancel"} {
			asking.Answering(t, asking.Elicit, func(check.Asked) check.ClientAnswer {
				return check.ClientAnswer{Result: check.Params{"action": action}}
			})
			if _, err := t.Client().Invoke(a.Method, a.Params).Get(); err != nil {
				t.Fail("an answer to "+a.Method, err.Error(), "%s elicited, the user answered %s: %v", a, action, err)
			}
		}
	}
	t.Survives("elicitations that were declined or cancelled")
}

// acceptForm is the answer of a user who fills in the form.
func acceptForm(a check.Asked) check.ClientAnswer {
	content, err := schema.Arguments(rand.New(rand.NewPCG(1, 1)), []byte(a.Params.Get("requestedSchema").Raw))
	if err != nil {
		return check.ClientAnswer{Result: check.Params{"action": "decline"}}
	}
	return check.ClientAnswer{Result: check.Params{"action": "accept", "content": json.RawMessage(content)}}
}
