package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// eliciting are the revisions that have elicitation.
var elicitationRevisions = spec.Since(spec.V2025_06_18)

// askingTools are the tools that need input from the client.
func libraryInputTools() []*Tool {
	return []*Tool{
		{
			Name: "suggest_reading", Title: "Suggest a book",
			Description: "Asks the client's model which book fits a mood.",
			Input: Object{
				"type": "object", "properties": Object{"mood": Object{"type": "string", "minLength": 1, "maxLength": 100}},
				"required": []any{"mood"}, "additionalProperties": false,
			},
			Hints: readOnlyTool, TaskSupport: "optional",
			Asks: func(call *Call) []Ask {
				return []Ask{{Key: "suggestion", Method: "sampling/createMessage", Params: Object{
					"messages":     []any{Object{"role": "user", "content": textBlock("Name one book for this mood: " + stringOf(call.Args["mood"]))}},
					"systemPrompt": "You are a librarian. Answer with one title from this list: " + bookTitles() + ".",
					"maxTokens":    60,
					"modelPreferences": Object{"hints": []any{Object{"name": "small"}}, "speedPriority": 0.8,
						"costPriority": 0.5, "intelligencePriority": 0.2},
				}}}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("The model suggests: " + sampleText(call.Answers["suggestion"]))
			},
		},
		{
			Name: "check_file", Title: "Check a file",
			Description: "Tells whether a file lies in the folders that the client opened to the library.",
			Input: Object{
				"type": "object", "properties": Object{"uri": Object{"type": "string", "pattern": "^file://", "maxLength": 2000, "examples": []any{"file:///home/reader/list.txt"}}},
				"required": []any{"uri"}, "additionalProperties": false,
			},
			Hints: readOnlyTool,
			Asks:  func(call *Call) []Ask { return []Ask{{Key: "roots", Method: "roots/list"}} },
			Run:   checkFile,
		},
		{
			Name: "register_reader", Title: "Register a reader",
			Description: "Asks for the particulars of a new reader and writes a card.",
			Input:       noArguments(), Hints: stateChangingTool, In: elicitationRevisions,
			Asks: func(*Call) []Ask {
				return []Ask{formElicitation("particulars", "Who is the card for?", Object{
					"name":   Object{"type": "string", "title": "Name", "description": "As it shall stand on the card", "minLength": 1, "maxLength": 60},
					"email":  Object{"type": "string", "title": "E-mail", "format": "email"},
					"wing":   Object{"type": "string", "title": "Favourite wing", "enum": []any{"A", "B", "C"}, "default": "A"},
					"age":    Object{"type": "integer", "title": "Age", "minimum": 6, "maximum": 120},
					"notice": Object{"type": "boolean", "title": "Send notices", "default": false},
				}, "name")}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				answer := call.Answers["particulars"]
				if answer["action"] != "accept" {
					return textOutcome("No card was written.")
				}
				return textOutcome(fmt.Sprintf("Welcome, %s. Your card is ready.", stringOf(answer["content"].(Object)["name"])))
			},
		},
		{
			Name: "plan_visit", Title: "Plan a visit",
			Description: "Asks for a day and for company, and plans a visit.",
			Input:       noArguments(), Hints: stateChangingTool, In: elicitationRevisions, TaskSupport: "optional",
			Asks: func(*Call) []Ask {
				return []Ask{
					formElicitation("day", "On which day will you come?", Object{"day": Object{"type": "string", "title": "Day", "format": "date"}}, "day"),
					formElicitation("company", "How many of you?", Object{"people": Object{"type": "integer", "title": "People", "minimum": 1, "maximum": 30}}, "people"),
				}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				day, company := call.Answers["day"], call.Answers["company"]
				if day["action"] != "accept" || company["action"] != "accept" {
					return textOutcome("No visit was planned.")
				}
				return textOutcome(fmt.Sprintf("We expect %v of you on %v.", company["content"].(Object)["people"], day["content"].(Object)["day"]))
			},
		},
	}
}

// form is an elicitation in form mode; it asks for nothing sensitive
// (client/elicitation#user-interaction-model).
func formElicitation(key, message string, properties Object, needed ...string) Ask {
	names := []any{}
	for _, n := range needed {
		names = append(names, n)
	}
	return Ask{Key: key, Method: "elicitation/create", Params: Object{
		"mode": "form", "message": message,
		"requestedSchema": Object{"type": "object", "properties": properties, "required": names},
	}}
}

func bookTitles() string {
	var out []string
	for _, b := range books() {
		out = append(out, b.title)
	}
	return strings.Join(out, "; ")
}

// checkFile keeps to the roots of the client and to paths that do not climb
// out of them (client/roots#security-considerations). It opens nothing.
func checkFile(_ context.Context, call *Call) Outcome {
	uri := stringOf(call.Args["uri"])
	if strings.Contains(uri, "..") || strings.Contains(uri, "%") {
		return errorOutcome("The library takes plain paths only.")
	}
	list, _ := call.Answers["roots"]["roots"].([]any)
	for _, v := range list {
		root := strings.TrimSuffix(stringOf(v.(Object)["uri"]), "/")
		if uri == root || strings.HasPrefix(uri, root+"/") {
			return textOutcome("The file lies in a folder of yours.")
		}
	}
	return errorOutcome("The file lies in none of the folders that you opened to the library.")
}
