package fault

import (
	"context"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onFirstAsk changes the params of what a tool asks first. The tools of the contract
// make them anew for each call.
func onFirstAsk(tool string, edit func(params server.Object)) apply {
	return onToolAsks(tool, func(asks []server.InputRequest) []server.InputRequest {
		edit(asks[0].Params)
		return asks
	})
}

// onFormField changes a field of the form of a tool.
func onFormField(tool, field string, edit func(schema server.Object)) apply {
	return onFirstAsk(tool, func(params server.Object) { edit(fieldsOf(params)[field].(server.Object)) })
}

// officialSampling are faults in the tool that samples.
func officialSampling() []Fault {
	return []Fault{
		{
			Name:     "contract-sampling-other-prompt",
			Does:     "sends another prompt than that of test_sampling to the model",
			CaughtBy: []string{"official.tools.sampling"},
			Apply: onFirstAsk("test_sampling", set("messages", []any{
				server.Object{"role": "user", "content": server.Object{"type": "text", "text": "Hello"}},
			})),
		},
		{
			Name: "contract-sampling-tokens", Does: "requests 1000 tokens in test_sampling",
			CaughtBy: []string{"official.tools.sampling"},
			Apply:    onFirstAsk("test_sampling", set("maxTokens", 1000)),
		},
		{
			Name: "contract-sampling-answer-lost", Does: "leaves the answer of the model out of test_sampling",
			CaughtBy: []string{"official.tools.sampling"},
			Apply:    onText("test_sampling", "LLM response: "),
		},
		{
			Name: "contract-sampling-skipped", Does: "does not request sampling in test_sampling",
			CaughtBy: []string{"official.tools.sampling"},
			Apply: onLibraryTool("test_sampling", func(t *server.Tool) {
				t.InputRequests = nil
				t.Run = func(context.Context, *server.Call) server.Outcome {
					return textOutcome("LLM response: This is a test response from the client")
				}
			}),
		},
	}
}

// officialElicitation are faults in the tools that elicit.
func officialElicitation() []Fault {
	const defaults = "test_elicitation_sep1034_defaults"
	return []Fault{
		{
			Name: "contract-elicitation-optional", Does: "does not require the email in test_elicitation",
			In:       contractSessions,
			CaughtBy: documented,
			Apply: onFirstAsk("test_elicitation", func(params server.Object) {
				params["requestedSchema"].(server.Object)["required"] = []any{"username"}
			}),
		},
		{
			Name: "contract-elicitation-message", Does: "elicits with another message than that of test_elicitation",
			CaughtBy: []string{"official.tools.elicitation"},
			Apply:    onFirstAsk("test_elicitation", set("message", "Who are you?")),
		},
		{
			Name: "contract-elicitation-answer-lost",
			Does: "leaves the answer of the user out of test_elicitation", In: contractSessions,
			CaughtBy: documented,
			Apply:    onText("test_elicitation", "User response: accept"),
		},
		{
			Name: "contract-default-missing", Does: "leaves the default of age out of " + defaults,
			CaughtBy: []string{"official.elicitation.defaults"},
			Apply:    onFormField(defaults, "age", remove("default")),
		},
		{
			Name: "contract-default-integer-as-number", Does: "gives age the type number in " + defaults,
			CaughtBy: []string{"official.elicitation.defaults"},
			Apply:    onFormField(defaults, "age", set("type", "number")),
		},
		{
			Name: "contract-default-false", Does: "gives verified the default false in " + defaults,
			CaughtBy: []string{"official.elicitation.defaults"},
			Apply:    onFormField(defaults, "verified", set("default", false)),
		},
	}
}

// officialChoices are faults in the choices that the contract elicits.
func officialChoices() []Fault {
	const enums = "test_elicitation_sep1330_enums"
	return []Fault{
		{
			Name: "contract-enum-names-short", Does: "names two of the three values of legacyEnum",
			CaughtBy: []string{"official.elicitation.enums"},
			Apply:    onFormField(enums, "legacyEnum", set("enumNames", []any{"Option One", "Option Two"})),
		},
		{
			Name: "contract-untitled-with-names", Does: "gives untitledSingle enumNames",
			CaughtBy: []string{"official.elicitation.enums"},
			Apply:    onFormField(enums, "untitledSingle", set("enumNames", []any{"One", "Two", "Three"})),
		},
		{
			Name: "contract-titled-without-titles", Does: "leaves the titles out of titledMulti",
			CaughtBy: []string{"official.elicitation.enums"},
			Apply: onFormField(enums, "titledMulti", set("items", server.Object{
				"type": "string", "enum": []any{"value1", "value2", "value3"},
			})),
		},
		{
			Name: "contract-choice-lost", Does: "leaves the answer of the user out of " + enums,
			In:       spec.Only(spec.V2025_11_25),
			CaughtBy: documented,
			Apply:    onText(enums, "Elicitation completed: {}"),
		},
	}
}
