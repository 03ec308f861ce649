package official

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// officialRounds are the tools and the prompt of the contract that ask by
// input_required results (basic/patterns/mrtr, since 2026-07-28).
func officialRounds() []check.Check {
	return []check.Check{
		{
			ID:    "official.input-required.elicitation",
			Says:  roundsTool + "elicitation asks for user_name, and completes with the answer",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-basic-elicitation",
			Probe: func(t *check.T) { contractRoundElicitation(t, nil) },
		},
		{
			ID:    "official.input-required.sampling",
			Says:  roundsTool + "sampling asks the client's model, and says its answer",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-basic-sampling",
			Probe: func(t *check.T) {
				d := toolDialogue(t, "sampling")
				first := d.ask()
				key, entry := first.of(d, "sampling/createMessage")
				if len(entry.Get("params.messages").Array()) == 0 {
					t.Fail("a message to the model", contract.ShortJSON(entry), "%s sends no message to the model", d.what)
				}
				const answer = "The capital of France is Paris."
				mustHold(t, "the text of "+d.what, d.said(d.again(first, check.Params{key: session.Sampled(answer)})), answer)
			},
		},
		{
			ID:    "official.input-required.roots",
			Says:  roundsTool + "list_roots asks for the roots, and tells of them",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-basic-list-roots",
			// contractRoundRoots: how the roots are told of is not documented; the
			// contract's own server counts them.
			Probe: func(t *check.T) {
				d := toolDialogue(t, "list_roots")
				first := d.ask()
				key, _ := first.of(d, "roots/list")
				said := d.said(d.again(first, check.Params{key: testRoot()}))
				if !slices.ContainsFunc([]string{"/test/root", "Test Root", "1"}, func(s string) bool { return strings.Contains(said.String(), s) }) {
					t.Fail("a text that tells of file:///test/root", contract.ShortJSON(said), "%s says %s, which tells of no root", d.what, contract.ShortJSON(said))
				}
			},
		},
		{
			ID:    "official.input-required.state",
			Says:  roundsTool + "request_state hands out a requestState, and says state-ok when it comes back",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-request-state",
			Probe: func(t *check.T) {
				d := toolDialogue(t, "request_state")
				first := d.ask()
				first.state(d)
				key, _ := first.of(d, "elicitation/create")
				mustHold(t, "the text of "+d.what, d.said(d.again(first, check.Params{key: agreed()})), "state-ok")
			},
		},
		{
			ID:    "official.input-required.several",
			Says:  roundsTool + "multiple_inputs asks for three kinds of input at once, and completes with their answers",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-multiple-input-requests",
			Probe: func(t *check.T) {
				d := toolDialogue(t, "multiple_inputs")
				first := d.ask()
				first.state(d)
				answers := check.Params{}
				for method, answer := range map[string]check.Params{
					"elicitation/create": alice(), "sampling/createMessage": session.Sampled("Hello there!"), "roots/list": testRoot(),
				} {
					key, _ := first.of(d, method)
					answers[key] = answer
				}
				d.said(d.again(first, answers))
			},
		},
		{
			ID:    "official.input-required.rounds",
			Says:  roundsTool + "multi_round asks twice, with another requestState each time, and completes",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-multi-round",
			Probe: func(t *check.T) {
				d := toolDialogue(t, "multi_round")
				first := d.ask()
				first.under(d, "step1", "elicitation/create")
				second := d.interim(d.again(first, check.Params{"step1": alice()}))
				second.under(d, "step2", "elicitation/create")
				if first.state(d) == second.state(d) {
					t.Fail("another requestState in the second round", contract.AsJSON(wire.Clip(second.state(d), 60)), "%s hands out the same requestState in both rounds", d.what)
				}
				d.said(d.again(second, check.Params{"step2": acceptsWith(check.Params{"color": "blue"})}))
			},
		},
		{
			ID:    "official.input-required.tampered",
			Says:  roundsTool + "tampered_state refuses a requestState that was changed",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-tampered-state",
			Probe: func(t *check.T) {
				d := toolDialogue(t, "tampered_state")
				first := d.ask()
				key, _ := first.of(d, "elicitation/create")
				tampered := interim{gjson.Parse(fmt.Sprintf(`{"requestState":%s}`, contract.AsJSON(first.state(d)+"-TAMPERED")))}
				if m := d.again(tampered, check.Params{key: agreed()}); m.Kind != wire.Error {
					t.Fail("an error", m.Summary(), "%s was sent a requestState that it never handed out, and answered with %s", d.what, m.Summary())
				}
			},
		},
		{
			ID:    "official.input-required.capabilities",
			Says:  roundsTool + "capabilities asks a client that declares sampling alone for nothing else",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-capability-check",
			Probe: func(t *check.T) {
				d := toolDialogue(t, "capabilities")
				d.params["_meta"] = check.Params{spec.MetaClientCapabilities: check.Params{"sampling": check.Params{}}}
				first := d.ask()
				first.of(d, "sampling/createMessage")
				first.Get("inputRequests").ForEach(func(key, entry gjson.Result) bool {
					if method := entry.Get("method").String(); method != "sampling/createMessage" {
						t.Fail("sampling/createMessage alone", contract.ShortJSON(entry), "%s asks for %s by %s, which the client did not declare", d.what, key.String(), method)
					}
					return true
				})
			},
		},
		{
			ID:    "official.input-required.prompt",
			Says:  "test_input_required_result_prompt asks for user_context, and completes with its answer",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-non-tool-request",
			Probe: func(t *check.T) {
				const prompt = "test_input_required_result_prompt"
				contractItem(t, offer.PromptsList, "prompt", prompt)
				d := dialogue{t, prompt, "prompts/get", check.Params{"name": prompt}}
				first := d.ask()
				first.under(d, "user_context", "elicitation/create")
				last := contractResult(t, prompt, d.again(first, check.Params{"user_context": acceptsWith(check.Params{"context": "test context"})}))
				if len(last.Get("messages").Array()) == 0 {
					t.Fail("messages", contract.ShortJSON(last), "the complete result of %s has no messages", prompt)
				}
			},
		},
		{
			ID:    "official.input-required.asks-again",
			Says:  "an answer under a key that was not asked for has the server ask again",
			Level: spec.Should,
			In:    spec.Stateless,
			Spec:  "input-required-result-missing-input-response",
			Probe: func(t *check.T) {
				d := toolDialogue(t, "elicitation")
				first := d.ask()
				d.interim(d.again(first, check.Params{"wrong_key": acceptsWith(check.Params{"data": "wrong"})})).under(d, "user_name", "elicitation/create")
			},
		},
		{
			ID:    "official.input-required.extra",
			Says:  "answers that were not asked for, beside the one that was, are ignored",
			Level: spec.Should,
			In:    spec.Stateless,
			Spec:  "input-required-result-ignore-extra-params",
			Probe: func(t *check.T) {
				d := toolDialogue(t, "elicitation")
				d.said(d.again(d.ask(), check.Params{
					"user_name":          alice(),
					"unknown_extra_key":  acceptsWith(check.Params{"foo": "bar"}),
					"another_unexpected": acceptsWith(check.Params{"baz": 123}),
				}))
			},
		},
		{
			ID:       "official.input-required.invalid",
			Says:     "inputResponses that are null or hold a number are not taken for an answer",
			Level:    spec.Should,
			In:       spec.Stateless,
			Spec:     "input-required-result-validate-input",
			Malforms: true,
			Probe: func(t *check.T) {
				d := toolDialogue(t, "elicitation")
				first := d.ask()
				for _, answers := range []string{`{"user_name":12345}`, "null"} {
					if m := d.again(first, json.RawMessage(answers)); m.Kind != wire.Error && !session.Interim(m) {
						t.Fail("an error, or the question again", m.Summary(), "%s took the inputResponses %s for an answer", d.what, answers)
					}
				}
			},
		},
	}
}

// A dialogue is a request that is played in rounds.
type dialogue struct {
	t      *check.T
	what   string // the tool or prompt
	method string
	params check.Params // of the first round
}

func toolDialogue(t *check.T, suffix string) dialogue {
	return dialogue{t, roundsTool + suffix, "tools/call", contractParams(t, roundsTool+suffix, check.Params{})}
}

// An interim is an input_required result.
type interim struct{ gjson.Result }

// ask sends the first round and returns its interim result.
func (d dialogue) ask() interim { return d.interim(d.t.Request(d.method, d.params)) }

// again sends the next round: the answers, and the requestState if there was
// one.
func (d dialogue) again(before interim, answers any) wire.Message {
	params := maps.Clone(d.params)
	params["inputResponses"] = answers
	if state := before.Get("requestState"); state.Exists() {
		params["requestState"] = json.RawMessage(state.Raw)
	}
	return d.t.Request(d.method, params)
}

// interim asserts that an answer asks for input.
func (d dialogue) interim(m wire.Message) interim {
	if !session.Interim(m) || len(m.Result().Get("inputRequests").Map()) == 0 {
		d.t.Fail("a result of type input_required with inputRequests", m.Summary(), "%s was answered with %s, which asks for no input", d.what, m.Summary())
	}
	return interim{m.Result()}
}

// said is the text of a complete result of a tool.
func (d dialogue) said(m wire.Message) gjson.Result {
	content := contractSuccess(d.t, d.what, m).Get("content")
	if len(content.Array()) == 0 {
		d.t.Fail("content", contract.ShortJSON(content), "the complete result of %s has no content", d.what)
	}
	return content.Get("0.text")
}

// under returns the input request of a key, which must be of a method.
func (i interim) under(d dialogue, key, method string) gjson.Result {
	entry := wire.Member(i.Get("inputRequests"), key)
	if entry.Get("method").String() != method {
		d.t.Fail(key+": "+method, contract.ShortJSON(i.Get("inputRequests")), "%s does not ask for %s by %s", d.what, key, method)
	}
	return entry
}

// of returns the key of the input request of a method.
func (i interim) of(d dialogue, method string) (key string, entry gjson.Result) {
	i.Get("inputRequests").ForEach(func(k, v gjson.Result) bool {
		if v.Get("method").String() == method {
			key, entry = k.String(), v
		}
		return key == ""
	})
	if key == "" {
		d.t.Fail("an input request "+method, contract.ShortJSON(i.Get("inputRequests")), "%s does not ask by %s", d.what, method)
	}
	return key, entry
}

// state asserts that the interim result hands out a state, and returns it.
func (i interim) state(d dialogue) string {
	state := i.Get("requestState")
	if state.Type != gjson.String || state.Str == "" {
		d.t.Fail("requestState, a string", contract.ShortJSON(state), "%s hands out no requestState", d.what)
	}
	return state.Str
}

// The answers of the contract.
func alice() check.Params { return acceptsWith(check.Params{"name": "Alice"}) }

func agreed() check.Params { return acceptsWith(check.Params{"ok": true}) }

func testRoot() check.Params {
	return check.Params{"roots": []any{check.Params{"uri": "file:///test/root", "name": "Test Root"}}}
}

func contractRoundElicitation(t *check.T, s *scribe) {
	d := toolDialogue(t, "elicitation")
	first := d.ask()
	entry := first.under(d, "user_name", "elicitation/create")
	mustBe(t, "the type of name in the form", entry.Get("params.requestedSchema.properties.name.type"), `"string"`)
	s.text(t, "the text of "+d.what, d.said(d.again(first, check.Params{"user_name": alice()})), "Hello, Alice!")
}
