package server

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// elicitation are the probes of client/elicitation. The shape of requests is
// judged in every session.
func elicitation() []check.Check {
	return []check.Check{
		{
			ID:    "elicitation.actions",
			Says:  "a request that elicits is answered when the user accepts, declines and cancels",
			Level: spec.Should,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"elicitation-server-handles-actions"},
			Probe: actionsHandled,
		},
		{
			ID:    "elicitation.failures",
			Says:  "a request that elicits is answered when the user declines and cancels",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"elicitation-server-handles-failure"},
			Probe: actionsHandled,
		},
		{
			ID:       "elicitation.content.validated",
			Says:     "content of a form that does not fit the requestedSchema is not used",
			Level:    spec.Should,
			In:       spec.Since(spec.V2025_06_18),
			Rules:    []string{"elicitation-validate-content"},
			Malforms: true,
			Probe:    contentValidated,
		},
		{
			ID:       "elicitation.answers.survived",
			Says:     "a request that elicits is answered whatever the client answers, and the server lives",
			Level:    spec.Robust,
			In:       spec.Handshake & spec.Since(spec.V2025_06_18),
			Spec:     "client/elicitation#response-actions",
			Malforms: true,
			Probe:    answersSurvived(elicit),
		},
	}
}

// actionsHandled takes any answer for a fitting one: what a tool does without
// what it asked for is its own affair.
func actionsHandled(t *check.T) {
	list := askersFor(t, elicit)
	for _, a := range list[:min(len(list), 3)] {
		for _, action := range []string{"decline", "cancel"} {
			answering(t, elicit, func(check.Asked) check.Reply { return check.Reply{Result: check.Params{"action": action}} })
			if _, err := t.TryInvoke(a.method, a.params); err != nil {
				t.Fail("an answer to "+a.method, err.Error(), "%s elicited, the user answered %s: %v", a, action, err)
			}
		}
	}
	t.Survives("elicitations that were declined or cancelled")
}

// contentValidated accepts any form of refusal. Content that merely lacks a
// field is not tried: a tool may well do without.
func contentValidated(t *check.T) {
	var u unusable
	tried := false
	for _, a := range askersFor(t, elicit) {
		for _, ask := range a.of(elicit) {
			content, why := misfitForm(ask.Params.Get("requestedSchema"))
			if content == nil {
				continue
			}
			tried = true
			answering(t, elicit, func(asked check.Asked) check.Reply {
				if asked.Params.Get("requestedSchema").Raw != ask.Params.Get("requestedSchema").Raw {
					return acceptForm(asked)
				}
				return check.Reply{Result: check.Params{"action": "accept", "content": json.RawMessage(content)}}
			})
			e, err := t.TryInvoke(a.method, a.params)
			if err != nil {
				continue // elicitation.answers.survived
			}
			if u.take(t, e.Message); u.used > 0 {
				t.Mark(e)
				t.Fail("a failure of the request", e.Message.Summary(), "%s elicited, and used content with %s", a, why)
			}
		}
	}
	switch {
	case !tried:
		t.NotObserved("no form was asked for whose content could be wrong", "")
	case u.refused == 0:
		t.NotObserved("what was filled in to a form did not show in any result", "")
	}
}

// acceptForm is the answer of a user who fills in the form.
func acceptForm(a check.Asked) check.Reply {
	content, err := schema.Arguments(rand.New(rand.NewPCG(1, 1)), []byte(a.Params.Get("requestedSchema").Raw))
	if err != nil {
		return check.Reply{Result: check.Params{"action": "decline"}}
	}
	return check.Reply{Result: check.Params{"action": "accept", "content": json.RawMessage(content)}}
}

// misfitForm returns content for a form with the marker in one field where it
// does not fit, and says in which; nil where none can be made. A field that
// takes no text gets it as a text, which any client could send by mistake; one
// that does, inside of an object.
func misfitForm(requested gjson.Result) (content []byte, why string) {
	valid, err := schema.Arguments(rand.New(rand.NewPCG(1, 1)), []byte(requested.Raw))
	compiled, bad := schema.CompileToolAnyDialect([]byte(requested.Raw))
	if err != nil || bad != nil {
		return nil, ""
	}
	for _, value := range []any{marker, map[string]any{"mcpcheck": marker}} {
		requested.Get("properties").ForEach(func(name, field gjson.Result) bool {
			members := map[string]any{}
			if json.Unmarshal(valid, &members) != nil {
				return false
			}
			members[name.String()] = value
			raw, err := json.Marshal(members)
			if err != nil {
				return false
			}
			if broken, err := compiled.Validate(raw); err == nil && len(broken) > 0 {
				content, why = raw, name.String()+" "+wire.Clip(string(mustJSON(value)), 80)
			}
			return content == nil
		})
		if content != nil {
			break
		}
	}
	return content, why
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("server: " + err.Error())
	}
	return b
}
