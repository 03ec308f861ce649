package server

import (
	"context"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// samplingToolsRevisions are the revisions in which a server may offer tools to the
// client's model (client/sampling#tools-in-sampling).
var samplingToolsRevisions = spec.Since(spec.V2025_11_25)

// librarySamplingTools returns the tools that let the client's model use tools.
func librarySamplingTools() []*Tool {
	question := stringSchema(1, 200)
	question["examples"] = []any{"Who wrote about fog?"}
	return []*Tool{{
		Name: "answer_question", Title: "Answer a question",
		Description: "Lets the client's model answer a question with the help of the catalogue.",
		InputSchema: closedSchema(Object{"question": question}, "question"),
		// The conversation with a model that does not finish ends after four turns
		// (client/sampling#security-considerations).
		Annotations: readOnly, In: samplingToolsRevisions, MaxTurns: 4,
		InputRequests: func(call *Call) []InputRequest { return []InputRequest{samplingTurn(call, 1)} },
		MoreInputRequests: func(call *Call) []InputRequest {
			n := len(call.Answers)
			if len(toolUses(call.Answers[turnKey(n)])) == 0 || n >= call.MaxTurns {
				return nil
			}
			return []InputRequest{samplingTurn(call, n+1)}
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

// lookUpTool returns the definition of the tool that the model may use.
func lookUpTool() Object {
	return Object{
		"name": "look_up", "description": "Finds books by a word of their title, author or description.",
		"inputSchema":  closedSchema(Object{"word": Object{"type": "string", "examples": []any{"fog"}}}, "word"),
		"outputSchema": objectSchema(Object{"books": Object{"type": "array", "items": bookSchema()}}, "books"),
	}
}

// samplingTurn asks the model for its n-th message. Each of its messages that uses
// tools is followed by one with a result for every use, and nothing else
// (client/sampling#tool-use-and-result-balance).
func samplingTurn(call *Call, n int) InputRequest {
	messages := []any{Object{"role": "user", "content": textBlock(stringOf(call.Args["question"]))}}
	for i := 1; i < n; i++ {
		answer := call.Answers[turnKey(i)]
		results := []any{}
		for _, use := range toolUses(answer) {
			results = append(results, lookUpResult(use))
		}
		messages = append(messages,
			Object{"role": "assistant", "content": answer["content"]}, Object{"role": "user", "content": results})
	}
	return InputRequest{Key: turnKey(n), Method: "sampling/createMessage", Params: Object{
		"messages": messages, "maxTokens": 200, "tools": []any{lookUpTool()}, "toolChoice": Object{"mode": "auto"},
	}}
}

// lookUpResult returns the result of one use of the tool.
func lookUpResult(use Object) Object {
	input, _ := use["input"].(Object)
	word := stringOf(input["word"])
	result := Object{"type": "tool_result", "toolUseId": use["id"]}
	if use["name"] != "look_up" || word == "" {
		result["isError"] = true
		result["content"] = []any{textBlock("There is no such tool, or nothing to look up.")}
		return result
	}
	value := Object{"books": bookObjects(containing(word))}
	result["structuredContent"] = value
	result["content"] = []any{textBlock(string(wire.Encode(value)))}
	return result
}
