package server

import (
	"context"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// officialRounds are the tools of the contract whose subject are the rounds of
// basic/patterns/mrtr. Those that keep nothing between the rounds take an
// answer without state, in a first request too: the contract wants that.
func officialRoundTools() []*Tool {
	name := fieldElicitation("user_name", "What is your name?", "name", "string")
	roots := Ask{Key: "client_roots", Method: "roots/list", Params: Object{}}
	rounds := func(suffix, description string, asks ...Ask) *Tool {
		return &Tool{
			Name: "test_input_required_result_" + suffix, Description: description, Input: noArguments(), Hints: readOnlyTool, In: spec.Stateless,
			Asks: func(*Call) []Ask { return asks },
		}
	}
	with := func(t *Tool, run func(call *Call) string) *Tool {
		t.Run = func(_ context.Context, call *Call) Outcome { return textOutcome(run(call)) }
		return t
	}
	multi := with(
		rounds("multi_round", "Asks the user twice, one after the other.", fieldElicitation("step1", "Step 1: What is your name?", "name", "string")),
		func(call *Call) string {
			return fmt.Sprintf("%s likes %s.", elicitedField(call, "step1", "name"), elicitedField(call, "step2", "color"))
		})
	multi.More = func(call *Call) []Ask {
		if call.Answers["step2"] != nil {
			return nil
		}
		return []Ask{fieldElicitation("step2", "Step 2: What is your favorite color?", "color", "string")}
	}
	able := with(rounds("capabilities", "Asks for what the client declared only."), func(*Call) string { return "All that was asked for came." })
	able.Asks = func(call *Call) []Ask {
		all := []Ask{name, samplingRequest("capital_question", "What is the capital of France?", 100), roots}
		var out []Ask
		for _, a := range all {
			if a.isSupportedBy(call.Client) {
				out = append(out, a)
			}
		}
		if out == nil {
			return all[1:2] // who declared nothing is told what is needed
		}
		return out
	}
	return []*Tool{
		with(rounds("elicitation", "Asks the user for a name.", withoutState(name)),
			func(call *Call) string { return "Hello, " + elicitedField(call, "user_name", "name") + "!" }),
		with(rounds("sampling", "Asks the client's model.", withoutState(samplingRequest("capital_question", "What is the capital of France?", 100))),
			func(call *Call) string { return sampleText(call.Answers["capital_question"]) }),
		with(rounds("list_roots", "Asks for the client's roots.", withoutState(roots)),
			func(call *Call) string {
				return "The roots are " + string(encode(call.Answers["client_roots"]["roots"]))
			}),
		with(rounds("request_state", "Keeps a state with the client.", fieldElicitation("confirm", "Please confirm", "ok", "boolean")),
			func(*Call) string { return "state-ok" }),
		with(rounds("multiple_inputs", "Asks for three things at once.", name, samplingRequest("greeting", "Generate a greeting", 50), roots),
			func(call *Call) string {
				return fmt.Sprintf("%s, %s!", sampleText(call.Answers["greeting"]), elicitedField(call, "user_name", "name"))
			}),
		multi,
		with(rounds("tampered_state", "Keeps a signed state with the client.", fieldElicitation("confirm", "Please confirm", "ok", "boolean")),
			func(*Call) string { return "The state came back whole." }),
		able,
	}
}

// unkept is the ask whose answer is taken without state.
func withoutState(a Ask) Ask {
	a.Open = true
	return a
}

// filled is what the user filled in under a name, if there was an answer.
func elicitedField(call *Call, key, name string) string {
	o, ok := call.Answers[key]["content"].(Object)
	if !ok {
		return "somebody"
	}
	return stringOf(o[name])
}
