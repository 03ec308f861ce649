package official

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// inputRequiredProbes returns the probes of the tools and the prompt that request input
// by input_required results (basic/patterns/mrtr, since 2026-07-28).
func inputRequiredProbes() []check.Check {
	return []check.Check{
		{
			ID:    "official.input-required.elicitation",
			Says:  inputRequiredTool + "elicitation requests user_name and completes with the answer",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-basic-elicitation",
			Idle:  noCall,
			Probe: func(t *check.T) {
				verifyInputRequiredElicitation(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.input-required.sampling",
			Says:  inputRequiredTool + "sampling requests an answer of the client's model and returns it",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-basic-sampling",
			Idle:  noCall,
			Probe: func(t *check.T) {
				d := toolDialogue(t, "sampling")
				first := d.start()
				key, entry := first.mustAskBy(d, "sampling/createMessage")
				if len(entry.Get("params.messages").Array()) == 0 {
					t.Fail("a message to the model", contract.ShortJSON(entry), "%s sends no message to the model",
						d.what)
				}
				const answer = "The capital of France is Paris."
				text := d.completedText(d.next(first, check.Params{key: session.SamplingResult(answer)}))
				mustContain(t, "the text of "+d.what, text, answer)
				t.Saw()
			},
		},
		{
			ID:    "official.input-required.roots",
			Says:  inputRequiredTool + "list_roots requests the roots and returns a text about them",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-basic-list-roots",
			Idle:  noCall,
			// The text is not documented; the server of the contract returns the number of
			// roots.
			Probe: func(t *check.T) {
				d := toolDialogue(t, "list_roots")
				first := d.start()
				key, _ := first.mustAskBy(d, "roots/list")
				text := d.completedText(d.next(first, check.Params{key: rootsAnswer()}))
				isInText := func(part string) bool { return strings.Contains(text.String(), part) }
				if !slices.ContainsFunc([]string{"/test/root", "Test Root", "1"}, isInText) {
					got := contract.ShortJSON(text)
					t.Fail("a text about the root file:///test/root", got,
						"%s returned %s, which does not mention the root", d.what, got)
				}
				t.Saw()
			},
		},
		{
			ID:    "official.input-required.state",
			Says:  inputRequiredTool + "request_state returns a requestState, and state-ok if the client returns it",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-request-state",
			Idle:  noCall,
			Probe: func(t *check.T) {
				d := toolDialogue(t, "request_state")
				first := d.start()
				first.mustHaveState(d)
				key, _ := first.mustAskBy(d, "elicitation/create")
				mustContain(t, "the text of "+d.what, d.completedText(d.next(first, check.Params{key: okAnswer()})),
					"state-ok")
				t.Saw()
			},
		},
		{
			ID:    "official.input-required.several",
			Says:  inputRequiredTool + "multiple_inputs requests three kinds of input at once and completes with them",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-multiple-input-requests",
			Idle:  noCall,
			Probe: func(t *check.T) {
				d := toolDialogue(t, "multiple_inputs")
				first := d.start()
				first.mustHaveState(d)
				answers := check.Params{}
				for method, answer := range map[string]check.Params{
					"elicitation/create":     aliceAnswer(),
					"sampling/createMessage": session.SamplingResult("Hello there!"),
					"roots/list":             rootsAnswer(),
				} {
					key, _ := first.mustAskBy(d, method)
					answers[key] = answer
				}
				d.completedText(d.next(first, answers))
				t.Saw()
			},
		},
		{
			ID:    "official.input-required.rounds",
			Says:  inputRequiredTool + "multi_round requests input twice, with different requestStates, and completes",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-multi-round",
			Idle:  noCall,
			Probe: func(t *check.T) {
				d := toolDialogue(t, "multi_round")
				first := d.start()
				first.mustAskUnder(d, "step1", "elicitation/create")
				second := d.mustAskForInput(d.next(first, check.Params{"step1": aliceAnswer()}))
				second.mustAskUnder(d, "step2", "elicitation/create")
				if first.mustHaveState(d) == second.mustHaveState(d) {
					t.Fail("another requestState in the second round",
						contract.Quote(wire.Clip(second.mustHaveState(d), 60)),
						"%s returns the same requestState in both rounds", d.what)
				}
				d.completedText(d.next(second, check.Params{"step2": acceptAnswer(check.Params{"color": "blue"})}))
				t.Saw()
			},
		},
		{
			ID:    "official.input-required.tampered",
			Says:  inputRequiredTool + "tampered_state rejects a requestState that was changed",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-tampered-state",
			Idle:  noCall,
			Probe: func(t *check.T) {
				d := toolDialogue(t, "tampered_state")
				first := d.start()
				key, _ := first.mustAskBy(d, "elicitation/create")
				state := contract.Quote(first.mustHaveState(d) + "-TAMPERED")
				tampered := interim{gjson.Parse(fmt.Sprintf(`{"requestState":%s}`, state))}
				m := d.next(tampered, check.Params{key: okAnswer()})
				match.Expect(t, m).To(match.BeError(), "%s with a requestState that it never returned", d.what)
				t.Saw()
			},
		},
		{
			ID:    "official.input-required.capabilities",
			Says:  inputRequiredTool + "capabilities requests only sampling from a client that declares only sampling",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-capability-check",
			Idle:  noCall,
			Probe: func(t *check.T) {
				d := toolDialogue(t, "capabilities")
				d.params["_meta"] = check.Params{spec.MetaClientCapabilities: check.Params{"sampling": check.Params{}}}
				first := d.start()
				first.mustAskBy(d, "sampling/createMessage")
				first.Get("inputRequests").ForEach(func(key, entry gjson.Result) bool {
					if method := entry.Get("method").String(); method != "sampling/createMessage" {
						t.Fail("sampling/createMessage alone", contract.ShortJSON(entry),
							"%s requests %s by %s, which the client did not declare", d.what, key.String(), method)
					}
					return true
				})
				t.Saw()
			},
		},
		{
			ID:    "official.input-required.prompt",
			Says:  "test_input_required_result_prompt requests user_context and completes with the answer",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "input-required-result-non-tool-request",
			Idle:  noPrompt,
			Probe: func(t *check.T) {
				const prompt = "test_input_required_result_prompt"
				listedItem(t, offer.PromptsList, "prompt", prompt)
				d := dialogue{t, prompt, "prompts/get", check.Params{"name": prompt}}
				first := d.start()
				first.mustAskUnder(d, "user_context", "elicitation/create")
				answer := acceptAnswer(check.Params{"context": "test context"})
				last := mustBeResult(t, prompt, d.next(first, check.Params{"user_context": answer}))
				if len(last.Get("messages").Array()) == 0 {
					t.Fail("messages", contract.ShortJSON(last), "the complete result of %s has no messages", prompt)
				}
				t.Saw()
			},
		},
		{
			ID:    "official.input-required.asks-again",
			Says:  "the server repeats its input request if the answer has a key that it did not request",
			Level: spec.Should,
			In:    spec.Stateless,
			Spec:  "input-required-result-missing-input-response",
			Idle:  noCall,
			Probe: func(t *check.T) {
				d := toolDialogue(t, "elicitation")
				first := d.start()
				answers := check.Params{"wrong_key": acceptAnswer(check.Params{"data": "wrong"})}
				second := d.mustAskForInput(d.next(first, answers))
				second.mustAskUnder(d, "user_name", "elicitation/create")
				t.Saw()
			},
		},
		{
			ID:    "official.input-required.extra",
			Says:  "the server ignores answers that it did not request beside the requested one",
			Level: spec.Should,
			In:    spec.Stateless,
			Spec:  "input-required-result-ignore-extra-params",
			Idle:  noCall,
			Probe: func(t *check.T) {
				d := toolDialogue(t, "elicitation")
				d.completedText(d.next(d.start(), check.Params{
					"user_name":          aliceAnswer(),
					"unknown_extra_key":  acceptAnswer(check.Params{"foo": "bar"}),
					"another_unexpected": acceptAnswer(check.Params{"baz": 123}),
				}))
				t.Saw()
			},
		},
		{
			ID:       "official.input-required.invalid",
			Says:     "the server does not accept inputResponses that are null or hold a number",
			Level:    spec.Should,
			In:       spec.Stateless,
			Spec:     "input-required-result-validate-input",
			Malforms: true,
			Idle:     noCall,
			Probe: func(t *check.T) {
				d := toolDialogue(t, "elicitation")
				first := d.start()
				for _, answers := range []string{`{"user_name":12345}`, "null"} {
					if m := d.next(first, json.RawMessage(answers)); m.Kind != wire.Error &&
						!session.IsInputRequired(m) {
						t.Fail("an error, or the input request again", m.Summary(),
							"%s accepted the inputResponses %s", d.what, answers)
					}
				}
				t.Saw()
			},
		},
	}
}

// verifyInputRequiredElicitation asserts that the tool requests a name and returns it.
func verifyInputRequiredElicitation(t *check.T, diff *differences) {
	d := toolDialogue(t, "elicitation")
	first := d.start()
	entry := first.mustAskUnder(d, "user_name", "elicitation/create")
	mustBe(t, "the type of name in the form", entry.Get("params.requestedSchema.properties.name.type"), `"string"`)
	diff.compareText(t, "the text of "+d.what, d.completedText(d.next(first, check.Params{"user_name": aliceAnswer()})),
		"Hello, Alice!")
}
