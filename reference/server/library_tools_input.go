package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// elicitationRevisions are the revisions that have elicitation.
var elicitationRevisions = spec.Since(spec.V2025_06_18)

// libraryInputTools returns the tools that need input from the client.
func libraryInputTools() []*Tool {
	return []*Tool{suggestReadingTool(), checkFileTool(), registerReaderTool(), planVisitTool()}
}

// suggestReadingTool needs a message of the client's model.
func suggestReadingTool() *Tool {
	return &Tool{
		Name: "suggest_reading", Title: "Suggest a book",
		Description: "Asks the client's model which book fits a mood.",
		InputSchema: closedSchema(Object{"mood": stringSchema(1, 100)}, "mood"),
		Annotations: readOnly, TaskSupport: "optional",
		InputRequests: func(call *Call) []InputRequest {
			prompt := textBlock("Name one book for this mood: " + stringOf(call.Args["mood"]))
			return []InputRequest{{Key: "suggestion", Method: "sampling/createMessage", Params: Object{
				"messages":     []any{Object{"role": "user", "content": prompt}},
				"systemPrompt": "You are a librarian. Answer with one title from this list: " + bookTitles() + ".",
				"maxTokens":    60,
				"modelPreferences": Object{
					"hints": []any{Object{"name": "small"}}, "speedPriority": 0.8,
					"costPriority": 0.5, "intelligencePriority": 0.2,
				},
			}}}
		},
		Run: func(_ context.Context, call *Call) Outcome {
			return textOutcome("The model suggests: " + sampleText(call.Answers["suggestion"]))
		},
	}
}

// checkFileTool needs the roots of the client. It accepts only paths that do not
// leave them (client/roots#security-considerations), and opens no file.
func checkFileTool() *Tool {
	return &Tool{
		Name: "check_file", Title: "Check a file",
		Description: "Tells whether a file lies in the folders that the client opened to the library.",
		InputSchema: closedSchema(Object{"uri": Object{
			"type": "string", "pattern": "^file://", "maxLength": 2000,
			"examples": []any{"file:///home/reader/list.txt"},
		}}, "uri"),
		Annotations:   readOnly,
		InputRequests: func(*Call) []InputRequest { return []InputRequest{{Key: "roots", Method: "roots/list"}} },
		Run: func(_ context.Context, call *Call) Outcome {
			uri := stringOf(call.Args["uri"])
			if strings.Contains(uri, "..") || strings.Contains(uri, "%") {
				return errorOutcome("The library takes plain paths only.")
			}
			roots, _ := call.Answers["roots"]["roots"].([]any)
			for _, v := range roots {
				root := strings.TrimSuffix(stringOf(v.(Object)["uri"]), "/")
				if uri == root || strings.HasPrefix(uri, root+"/") {
					return textOutcome("The file lies in a folder of yours.")
				}
			}
			return errorOutcome("The file lies in none of the folders that you opened to the library.")
		},
	}
}

// registerReaderTool needs a form with a field of each type.
func registerReaderTool() *Tool {
	return &Tool{
		Name: "register_reader", Title: "Register a reader",
		Description: "Asks for the particulars of a new reader and writes a card.",
		InputSchema: noArguments(), Annotations: changesState, In: elicitationRevisions,
		InputRequests: func(*Call) []InputRequest {
			return []InputRequest{formElicitation("particulars", "Who is the card for?", Object{
				"name": Object{
					"type": "string", "title": "Name", "description": "As it shall stand on the card",
					"minLength": 1, "maxLength": 60,
				},
				"email": Object{"type": "string", "title": "E-mail", "format": "email"},
				"wing": Object{
					"type": "string", "title": "Favourite wing", "enum": []any{"A", "B", "C"}, "default": "A",
				},
				"age":    Object{"type": "integer", "title": "Age", "minimum": 6, "maximum": 120},
				"notice": Object{"type": "boolean", "title": "Send notices", "default": false},
			}, "name")}
		},
		Run: func(_ context.Context, call *Call) Outcome {
			answer := call.Answers["particulars"]
			if answer["action"] != "accept" {
				return textOutcome("No card was written.")
			}
			name := stringOf(answer["content"].(Object)["name"])
			return textOutcome(fmt.Sprintf("Welcome, %s. Your card is ready.", name))
		},
	}
}

// planVisitTool needs two forms.
func planVisitTool() *Tool {
	return &Tool{
		Name: "plan_visit", Title: "Plan a visit",
		Description: "Asks for a day and for company, and plans a visit.",
		InputSchema: noArguments(), Annotations: changesState, In: elicitationRevisions, TaskSupport: "optional",
		InputRequests: func(*Call) []InputRequest {
			day := Object{"type": "string", "title": "Day", "format": "date"}
			people := Object{"type": "integer", "title": "People", "minimum": 1, "maximum": 30}
			return []InputRequest{
				formElicitation("day", "On which day will you come?", Object{"day": day}, "day"),
				formElicitation("company", "How many of you?", Object{"people": people}, "people"),
			}
		},
		Run: func(_ context.Context, call *Call) Outcome {
			day, company := call.Answers["day"], call.Answers["company"]
			if day["action"] != "accept" || company["action"] != "accept" {
				return textOutcome("No visit was planned.")
			}
			people := company["content"].(Object)["people"]
			return textOutcome(fmt.Sprintf("We expect %v of you on %v.", people, day["content"].(Object)["day"]))
		},
	}
}

// formElicitation returns an elicitation in form mode. The forms ask for nothing
// sensitive (client/elicitation#user-interaction-model).
func formElicitation(key, message string, properties Object, required ...string) InputRequest {
	schema := objectSchema(properties, required...)
	if len(required) == 0 {
		schema["required"] = []any{}
	}
	return InputRequest{Key: key, Method: "elicitation/create", Params: Object{
		"mode": "form", "message": message, "requestedSchema": schema,
	}}
}
