package server

import (
	"context"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// officialRoundTools returns the tools of the contract that show the rounds of
// basic/patterns/mrtr. Those that keep nothing between the rounds accept an answer
// without state, also in a first request: the contract requires that.
func officialRoundTools() []*Tool {
	name := nameElicitation("user_name")
	capital := samplingRequest("capital_question", "What is the capital of France?", 100)
	roots := InputRequest{Key: "client_roots", Method: "roots/list", Params: Object{}}
	confirm := fieldElicitation("confirm", "Please confirm", "ok", "boolean")
	return []*Tool{
		roundTool("elicitation", "Asks the user for a name.", fixedInput(withoutState(name)),
			func(call *Call) string { return "Hello, " + elicitedField(call, "user_name", "name") + "!" }),
		roundTool("sampling", "Asks the client's model.", fixedInput(withoutState(capital)),
			func(call *Call) string { return sampleText(call.Answers["capital_question"]) }),
		roundTool("list_roots", "Asks for the client's roots.", fixedInput(withoutState(roots)),
			func(call *Call) string {
				return "The roots are " + string(wire.Encode(call.Answers["client_roots"]["roots"]))
			}),
		roundTool("request_state", "Keeps a state with the client.", fixedInput(confirm),
			func(*Call) string { return "state-ok" }),
		roundTool("multiple_inputs", "Asks for three things at once.",
			fixedInput(name, samplingRequest("greeting", "Generate a greeting", 50), roots),
			func(call *Call) string {
				return fmt.Sprintf("%s, %s!",
					sampleText(call.Answers["greeting"]), elicitedField(call, "user_name", "name"))
			}),
		twoRoundTool(),
		roundTool("tampered_state", "Keeps a signed state with the client.", fixedInput(confirm),
			func(*Call) string { return "The state came back whole." }),
		roundTool("capabilities", "Asks for what the client declared only.",
			supportedInput(capital, name, capital, roots),
			func(*Call) string { return "All that was asked for came." }),
	}
}

// roundTool returns a tool that needs input and answers with a text.
func roundTool(suffix, description string, requests func(*Call) []InputRequest, run func(*Call) string) *Tool {
	return &Tool{
		Name: "test_input_required_result_" + suffix, Description: description,
		InputSchema: noArguments(), Annotations: readOnly, In: spec.Stateless, InputRequests: requests,
		Run: func(_ context.Context, call *Call) Outcome { return textOutcome(run(call)) },
	}
}

// twoRoundTool asks for a second input once the first is answered.
func twoRoundTool() *Tool {
	tool := roundTool("multi_round", "Asks the user twice, one after the other.",
		fixedInput(fieldElicitation("step1", "Step 1: What is your name?", "name", "string")),
		func(call *Call) string {
			return fmt.Sprintf("%s likes %s.",
				elicitedField(call, "step1", "name"), elicitedField(call, "step2", "color"))
		})
	tool.MoreInputRequests = func(call *Call) []InputRequest {
		if call.Answers["step2"] != nil {
			return nil
		}
		return []InputRequest{fieldElicitation("step2", "Step 2: What is your favorite color?", "color", "string")}
	}
	return tool
}

// supportedInput returns the requests that the client declared support for. If it
// declared none, it returns the fallback, so that the error names a capability.
func supportedInput(fallback InputRequest, requests ...InputRequest) func(*Call) []InputRequest {
	return func(call *Call) []InputRequest {
		var out []InputRequest
		for _, a := range requests {
			if a.isSupportedBy(call.Client) {
				out = append(out, a)
			}
		}
		if out == nil {
			return []InputRequest{fallback}
		}
		return out
	}
}

// withoutState returns the input request with answers accepted without state.
func withoutState(a InputRequest) InputRequest {
	a.WithoutState = true
	return a
}
