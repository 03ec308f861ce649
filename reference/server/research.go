package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// researching are the revisions in which a client's model may be offered tools
// (client/sampling#tools-in-sampling).
var samplingToolsRevisions = spec.Since(spec.V2025_11_25)

// researchTools are the tools that let the client's model use tools.
func librarySamplingTools() []*Tool {
	return []*Tool{{
		Name: "answer_question", Title: "Answer a question",
		Description: "Lets the client's model answer a question with the help of the catalogue.",
		Input: Object{
			"type": "object", "properties": Object{"question": Object{"type": "string", "minLength": 1, "maxLength": 200, "examples": []any{"Who wrote about fog?"}}},
			"required": []any{"question"}, "additionalProperties": false,
		},
		// A model that never comes to an end is left after so many turns
		// (client/sampling#security-considerations).
		Hints: readOnlyTool, In: samplingToolsRevisions, Turns: 4,
		Asks: func(call *Call) []Ask { return []Ask{samplingTurn(call, 1)} },
		More: func(call *Call) []Ask {
			n := len(call.Answers)
			if len(toolUses(call.Answers[turnKey(n)])) == 0 || n >= call.Turns {
				return nil
			}
			return []Ask{samplingTurn(call, n+1)}
		},
		Run: func(_ context.Context, call *Call) Outcome {
			if answer := sampleText(call.Answers[turnKey(len(call.Answers))]); answer != "" {
				return textOutcome("The model says: " + answer)
			}
			return errorOutcome("The model came to no answer.")
		},
	}}
}

func turnKey(n int) string { return fmt.Sprintf("turn-%d", n) }

// lookUp is the tool that the model is offered.
func lookUpTool() Object {
	return Object{
		"name": "look_up", "description": "Finds books by a word of their title, author or description.",
		"inputSchema": Object{
			"type": "object", "properties": Object{"word": Object{"type": "string", "examples": []any{"fog"}}},
			"required": []any{"word"}, "additionalProperties": false,
		},
		"outputSchema": Object{
			"type":       "object",
			"properties": Object{"books": Object{"type": "array", "items": bookSchema()}},
			"required":   []any{"books"},
		},
	}
}

// turn asks the model for its n-th message. Each of its messages that uses
// tools is followed by one with a result for every use, and nothing else
// (client/sampling#tool-use-and-result-balance).
func samplingTurn(call *Call, n int) Ask {
	messages := []any{Object{"role": "user", "content": textBlock(stringOf(call.Args["question"]))}}
	for i := 1; i < n; i++ {
		answer := call.Answers[turnKey(i)]
		results := []any{}
		for _, use := range toolUses(answer) {
			results = append(results, lookUpResult(use))
		}
		messages = append(messages, Object{"role": "assistant", "content": answer["content"]}, Object{"role": "user", "content": results})
	}
	return Ask{Key: turnKey(n), Method: "sampling/createMessage", Params: Object{
		"messages": messages, "maxTokens": 200, "tools": []any{lookUpTool()}, "toolChoice": Object{"mode": "auto"},
	}}
}

// lookedUp is the result of one use of the tool.
func lookUpResult(use Object) Object {
	input, _ := use["input"].(Object)
	word := strings.ToLower(stringOf(input["word"]))
	if use["name"] != "look_up" || word == "" {
		return Object{"type": "tool_result", "toolUseId": use["id"], "isError": true, "content": []any{textBlock("There is no such tool, or nothing to look up.")}}
	}
	found := []any{}
	for _, b := range books() {
		if strings.Contains(strings.ToLower(b.markdown()), word) {
			found = append(found, b.object())
		}
	}
	value := Object{"books": found}
	return Object{"type": "tool_result", "toolUseId": use["id"], "structuredContent": value, "content": []any{textBlock(string(encode(value)))}}
}

// toolUses returns the uses of tools in an answer of the model.
func toolUses(answer Object) []Object {
	blocks, ok := answer["content"].([]any)
	if !ok {
		blocks = []any{answer["content"]}
	}
	var out []Object
	for _, b := range blocks {
		if block, ok := b.(Object); ok && block["type"] == "tool_use" {
			out = append(out, block)
		}
	}
	return out
}

// checkToolUses checks the blocks by which a model uses tools
// (schema.ts#ToolUseContent).
func checkToolUses(uses []Object) string {
	for _, use := range uses {
		if !isString(use["id"]) || !isString(use["name"]) || !isObject(use["input"]) {
			return "holds a use of a tool without id, name or input"
		}
	}
	return ""
}
