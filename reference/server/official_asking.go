package server

import (
	"context"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// ask is an elicitation of the contract for one value.
func fieldElicitation(key, message, name, kind string) Ask {
	return formElicitation(key, message, Object{name: Object{"type": kind}}, name)
}

// sampled is a request of the contract to the client's model.
func samplingRequest(key, prompt string, maxTokens int) Ask {
	return Ask{Key: key, Method: "sampling/createMessage", Params: Object{
		"messages": []any{Object{"role": "user", "content": textBlock(prompt)}}, "maxTokens": maxTokens,
	}}
}

// word is the schema of a tool that takes one string.
func stringArgument(name string) Object {
	return Object{
		"type": "object", "properties": Object{name: Object{"type": "string", "minLength": 1, "maxLength": 200}},
		"required": []any{name}, "additionalProperties": false,
	}
}

// officialAsking are the tools of the contract that ask one thing, in the way
// of the era.
func officialInputTools() []*Tool {
	return []*Tool{
		{
			Name: "test_sampling", Description: "Asks the client's model.", Input: stringArgument("prompt"), Hints: readOnlyTool,
			Asks: func(call *Call) []Ask {
				return []Ask{samplingRequest("completion", stringOf(call.Args["prompt"]), 100)}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("LLM response: " + sampleText(call.Answers["completion"]))
			},
		},
		{
			Name: "test_elicitation", Description: "Asks the user for a name and an address.", Input: stringArgument("message"), Hints: readOnlyTool, In: elicitationRevisions,
			Asks: func(call *Call) []Ask {
				return []Ask{formElicitation("user", stringOf(call.Args["message"]), Object{
					"username": Object{"type": "string", "description": "User's response"},
					"email":    Object{"type": "string", "description": "User's email address"},
				}, "username", "email")}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome(fmt.Sprintf("User response: action=%s, content=%s", stringOf(call.Answers["user"]["action"]), elicitedJSON(call.Answers["user"])))
			},
		},
		{
			// Defaults stand in the schemas of 2025-11-25 and later.
			Name: "test_elicitation_sep1034_defaults", Description: "Asks the user for values that have defaults.", Input: noArguments(), Hints: readOnlyTool, In: spec.Since(spec.V2025_11_25),
			Asks: func(*Call) []Ask {
				return []Ask{formElicitation("values", "Please look over these values", Object{
					"name":     Object{"type": "string", "default": "John Doe"},
					"age":      Object{"type": "integer", "default": 30},
					"score":    Object{"type": "number", "default": 95.5},
					"status":   Object{"type": "string", "enum": []any{"active", "inactive", "pending"}, "default": "active"},
					"verified": Object{"type": "boolean", "default": true},
				})}
			},
			Run: reportElicitation("values"),
		},
		{
			Name: "test_elicitation_sep1330_enums", Description: "Asks the user to choose, in five ways.", Input: noArguments(), Hints: readOnlyTool, In: spec.Since(spec.V2025_11_25),
			Asks: func(*Call) []Ask {
				return []Ask{formElicitation("choices", "Please choose", Object{
					"untitledSingle": untitledEnum("option"),
					"titledSingle":   Object{"type": "string", "oneOf": titledValues("Option")},
					"legacyEnum":     Object{"type": "string", "enum": []any{"opt1", "opt2", "opt3"}, "enumNames": []any{"Option One", "Option Two", "Option Three"}},
					"untitledMulti":  Object{"type": "array", "items": untitledEnum("option")},
					"titledMulti":    Object{"type": "array", "items": Object{"anyOf": titledValues("Choice")}},
				})}
			},
			Run: reportElicitation("choices"),
		},
		{
			Name: "test_missing_capability", Description: "Needs a client with sampling.", Input: noArguments(), Hints: readOnlyTool, In: spec.Stateless,
			Asks: func(*Call) []Ask { return []Ask{samplingRequest("completion", "Say one word", 100)} },
			Run:  func(context.Context, *Call) Outcome { return textOutcome("The client has sampling.") },
		},
		{
			Name: "test_streaming_elicitation", Description: "Asks the user by its result, never by a request.", Input: noArguments(), Hints: readOnlyTool, In: spec.Stateless,
			Asks: func(*Call) []Ask { return []Ask{fieldElicitation("user_name", "What is your name?", "name", "string")} },
			Run:  func(context.Context, *Call) Outcome { return textOutcome("The user has answered.") },
		},
	}
}

// elicited says back how the user answered.
func reportElicitation(key string) func(context.Context, *Call) Outcome {
	return func(_ context.Context, call *Call) Outcome {
		return textOutcome(fmt.Sprintf("Elicitation completed: action=%s, content=%s", stringOf(call.Answers[key]["action"]), elicitedJSON(call.Answers[key])))
	}
}

// content is what the user filled in, as JSON.
func elicitedJSON(answer Object) string {
	o, ok := answer["content"].(Object)
	if !ok {
		o = Object{}
	}
	return string(encode(o))
}

// options is a choice among three strings without titles.
func untitledEnum(stem string) Object {
	return Object{"type": "string", "enum": []any{stem + "1", stem + "2", stem + "3"}}
}

// titled are three values with titles.
func titledValues(noun string) []any {
	out := []any{}
	for i, nth := range []string{"First", "Second", "Third"} {
		out = append(out, Object{"const": fmt.Sprintf("value%d", i+1), "title": nth + " " + noun})
	}
	return out
}
