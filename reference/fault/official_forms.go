package fault

import (
	"context"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// refusingSome answers some requests of a method with an error.
func refusingSome(method string, which func(r *server.Request) bool, e *server.Error) func(next server.Handler) server.Handler {
	return func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == method && which(r) {
				return nil, e
			}
			return next(ctx, r)
		}
	}
}

func officialForms() []Fault {
	const defaults, enums = "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums"
	return []Fault{
		{
			Name: "contract-sampling-other-prompt", Does: "has the model answer another prompt than that of test_sampling",
			CaughtBy: []string{"official.tools.sampling"},
			Apply: onAskParams("test_sampling", func(params server.Object) {
				params["messages"] = []any{server.Object{"role": "user", "content": server.Object{"type": "text", "text": "Hello"}}}
			}),
		},
		{
			Name: "contract-sampling-tokens", Does: "asks for 1000 tokens in test_sampling",
			CaughtBy: []string{"official.tools.sampling"},
			Apply:    onAskParams("test_sampling", set("maxTokens", 1000)),
		},
		{
			Name: "contract-sampling-answer-lost", Does: "does not say what the model answered in test_sampling",
			CaughtBy: []string{"official.tools.sampling"},
			Apply:    insteadSaying("test_sampling", "LLM response: "),
		},
		{
			Name: "contract-sampling-skipped", Does: "does not ask the model in test_sampling",
			CaughtBy: []string{"official.tools.sampling"},
			Apply:    onLibraryTool("test_sampling", func(t *server.Tool) { t.Asks = nil; t.Run = unasked }),
		},
		{
			Name: "contract-elicitation-optional", Does: "does not require the email of test_elicitation", In: inSessions,
			CaughtBy: []string{"official.documented"},
			Apply: onAskParams("test_elicitation", func(params server.Object) {
				params["requestedSchema"].(server.Object)["required"] = []any{"username"}
			}),
		},
		{
			Name: "contract-elicitation-message", Does: "shows the user another message than that of test_elicitation",
			CaughtBy: []string{"official.tools.elicitation"},
			Apply:    onAskParams("test_elicitation", set("message", "Who are you?")),
		},
		{
			Name: "contract-elicitation-answer-lost", Does: "does not say what the user answered in test_elicitation", In: inSessions,
			CaughtBy: []string{"official.documented"},
			Apply:    insteadSaying("test_elicitation", "User response: accept"),
		},
		{
			Name: "contract-default-missing", Does: "gives the age no default in " + defaults,
			CaughtBy: []string{"official.elicitation.defaults"},
			Apply:    onFormField(defaults, "age", func(schema server.Object) { delete(schema, "default") }),
		},
		{
			Name: "contract-default-integer-as-number", Does: "asks for the age as a number in " + defaults,
			CaughtBy: []string{"official.elicitation.defaults"},
			Apply:    onFormField(defaults, "age", set("type", "number")),
		},
		{
			Name: "contract-default-false", Does: "has false for the default of verified in " + defaults,
			CaughtBy: []string{"official.elicitation.defaults"},
			Apply:    onFormField(defaults, "verified", set("default", false)),
		},
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
			Name: "contract-titled-without-titles", Does: "offers titledMulti as plain values",
			CaughtBy: []string{"official.elicitation.enums"},
			Apply: onFormField(enums, "titledMulti", set("items", server.Object{
				"type": "string", "enum": []any{"value1", "value2", "value3"},
			})),
		},
		{
			Name: "contract-choice-lost", Does: "does not say what the user did in " + enums, In: in2025_11,
			CaughtBy: []string{"official.documented"},
			Apply:    insteadSaying(enums, "Elicitation completed: {}"),
		},
	}
}

// unasked is a tool that answers as if it had asked.
func unasked(context.Context, *server.Call) server.Outcome {
	return server.Outcome{Content: []server.Object{{"type": "text", "text": "LLM response: This is a test response from the client"}}}
}
