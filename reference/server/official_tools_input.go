package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// fieldElicitation returns an elicitation of the contract for one value.
func fieldElicitation(key, message, name, kind string) InputRequest {
	return formElicitation(key, message, Object{name: Object{"type": kind}}, name)
}

// nameElicitation returns an elicitation of the contract for the user's name.
func nameElicitation(key string) InputRequest {
	return fieldElicitation(key, "What is your name?", "name", "string")
}

// samplingRequest returns a request of the contract to the client's model.
func samplingRequest(key, prompt string, maxTokens int) InputRequest {
	return InputRequest{Key: key, Method: "sampling/createMessage", Params: Object{
		"messages": []any{Object{"role": "user", "content": textBlock(prompt)}}, "maxTokens": maxTokens,
	}}
}

// fixedInput returns the input of a tool that does not depend on the call. Each call
// gets a copy, which a fault may change.
func fixedInput(requests ...InputRequest) func(*Call) []InputRequest {
	return func(*Call) []InputRequest {
		out := slices.Clone(requests)
		for i := range out {
			out[i].Params = deepCopy(out[i].Params).(Object)
		}
		return out
	}
}

// officialInputTools returns the tools of the contract that need one input, in the
// way of the era.
func officialInputTools() []*Tool {
	return []*Tool{
		{
			Name: "test_sampling", Description: "Asks the client's model.",
			InputSchema: stringArgument("prompt"), Annotations: readOnly,
			InputRequests: func(call *Call) []InputRequest {
				return []InputRequest{samplingRequest("completion", stringOf(call.Args["prompt"]), 100)}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("LLM response: " + sampleText(call.Answers["completion"]))
			},
		},
		{
			Name: "test_elicitation", Description: "Asks the user for a name and an address.",
			InputSchema: stringArgument("message"), Annotations: readOnly, In: elicitationRevisions,
			InputRequests: func(call *Call) []InputRequest {
				return []InputRequest{formElicitation("user", stringOf(call.Args["message"]), Object{
					"username": Object{"type": "string", "description": "User's response"},
					"email":    Object{"type": "string", "description": "User's email address"},
				}, "username", "email")}
			},
			Run: reportElicitation("User response", "user"),
		},
		{
			// Defaults are in the schemas of 2025-11-25 and later.
			Name:        "test_elicitation_sep1034_defaults",
			Description: "Asks the user for values that have defaults.",
			InputSchema: noArguments(), Annotations: readOnly, In: spec.Since(spec.V2025_11_25),
			InputRequests: fixedInput(formElicitation("values", "Please look over these values", Object{
				"name":  Object{"type": "string", "default": "John Doe"},
				"age":   Object{"type": "integer", "default": 30},
				"score": Object{"type": "number", "default": 95.5},
				"status": Object{
					"type": "string", "enum": []any{"active", "inactive", "pending"}, "default": "active",
				},
				"verified": Object{"type": "boolean", "default": true},
			})),
			Run: reportElicitation("Elicitation completed", "values"),
		},
		{
			Name: "test_elicitation_sep1330_enums", Description: "Asks the user to choose, in five ways.",
			InputSchema: noArguments(), Annotations: readOnly, In: spec.Since(spec.V2025_11_25),
			InputRequests: fixedInput(formElicitation("choices", "Please choose", Object{
				"untitledSingle": untitledEnum("option"),
				"titledSingle":   Object{"type": "string", "oneOf": titledValues("Option")},
				"legacyEnum": Object{
					"type": "string", "enum": []any{"opt1", "opt2", "opt3"},
					"enumNames": []any{"Option One", "Option Two", "Option Three"},
				},
				"untitledMulti": Object{"type": "array", "items": untitledEnum("option")},
				"titledMulti":   Object{"type": "array", "items": Object{"anyOf": titledValues("Choice")}},
			})),
			Run: reportElicitation("Elicitation completed", "choices"),
		},
		{
			Name: "test_missing_capability", Description: "Needs a client with sampling.",
			InputSchema: noArguments(), Annotations: readOnly, In: spec.Stateless,
			InputRequests: fixedInput(samplingRequest("completion", "Say one word", 100)),
			Run:           fixedOutcome(textBlock("The client has sampling.")),
		},
		{
			Name:        "test_streaming_elicitation",
			Description: "Asks the user by its result, never by a request.",
			InputSchema: noArguments(), Annotations: readOnly, In: spec.Stateless,
			InputRequests: fixedInput(nameElicitation("user_name")),
			Run:           fixedOutcome(textBlock("The user has answered.")),
		},
	}
}

// reportElicitation returns a tool implementation that reports how the user
// answered.
func reportElicitation(prefix, key string) func(context.Context, *Call) Outcome {
	return func(_ context.Context, call *Call) Outcome {
		answer := call.Answers[key]
		action := stringOf(answer["action"])
		return textOutcome(fmt.Sprintf("%s: action=%s, content=%s", prefix, action, elicitedJSON(answer)))
	}
}

// elicitedJSON returns the content of an answer as JSON.
func elicitedJSON(answer Object) string {
	o, ok := answer["content"].(Object)
	if !ok {
		o = Object{}
	}
	return string(wire.Encode(o))
}

// elicitedField returns the value that the user entered under a name.
func elicitedField(call *Call, key, name string) string {
	o, ok := call.Answers[key]["content"].(Object)
	if !ok {
		return "somebody"
	}
	return stringOf(o[name])
}

// untitledEnum returns a choice among three strings without titles.
func untitledEnum(stem string) Object {
	return Object{"type": "string", "enum": []any{stem + "1", stem + "2", stem + "3"}}
}

// titledValues returns three values with titles.
func titledValues(noun string) []any {
	out := []any{}
	for i, nth := range []string{"First", "Second", "Third"} {
		out = append(out, Object{"const": fmt.Sprintf("value%d", i+1), "title": nth + " " + noun})
	}
	return out
}
