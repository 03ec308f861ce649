package fault

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

const completeMethod = "completion/complete"

// completionFaults are the faults of server/utilities/completion.
func completionFaults() []Fault {
	return slices.Concat(completionResults(), completionRequests(), overHTTP(completionHTTP()...),
		[]Fault{
			exitsOn("completion/complete", "completion.request.survived"),
			hangsOn("completion/complete", "completion.request.survived"),
			silentOn("completion/complete", "completion.request.survived"),
		})
}

// onCompletion changes the completions.
func onCompletion(edit func(completion server.Object)) apply {
	return onResult(completeMethod, func(o server.Object) { edit(o["completion"].(server.Object)) })
}

// isCompletion matches requests for completions whose ref and argument match; each
// is nil where it is not an object.
func isCompletion(matches func(ref, argument server.Object) bool) requestMatcher {
	return func(r *server.Request) bool {
		ref, _ := r.Params["ref"].(server.Object)
		argument, _ := r.Params["argument"].(server.Object)
		return r.Method == completeMethod && matches(ref, argument)
	}
}

// noCompletions answers with a completion without values.
var noCompletions = succeedWith(server.Object{"completion": server.Object{"values": []any{}}})

// completionResults are faults in how valid requests are answered.
func completionResults() []Fault {
	return []Fault{
		{
			Name: "completion-undeclared", Does: "completes arguments without declaring the capability",
			CaughtBy: []string{"completion.capability.declared"},
			Apply:    undeclared("completions"),
		},
		{
			Name:     "completion-unsupported-code",
			Does:     "does not declare completions and answers completion/complete with error -32602",
			CaughtBy: []string{"completion.unsupported"},
			Apply: combine(withoutCapability("completions"),
				answerInstead(completeMethod, failWith(spec.InvalidParams, "Completions are not supported"))),
		},
		{
			Name:     "completion-unsupported-empty",
			Does:     "does not declare completions and answers completion/complete without values",
			CaughtBy: []string{"completion.unsupported"},
			Apply:    combine(withoutCapability("completions"), answerInstead(completeMethod, noCompletions)),
		},
		{
			Name: "completes-prompts-only", Does: "answers completions of resource templates with error -32601",
			CaughtBy: []string{"completion.refs"},
			Apply: answerWhen(isCompletion(func(ref, _ server.Object) bool { return ref["type"] == "ref/resource" }),
				failWith(spec.MethodNotFound, "Templates are not completed")),
		},
		{
			Name: "completion-internal-error", Does: "answers completions of an argument with error -32603",
			CaughtBy: []string{"completion.listed.answered"},
			Apply: answerWhen(isCompletion(func(ref, argument server.Object) bool {
				return ref["name"] == "recommend_book" && argument["value"] == ""
			}), failWith(spec.InternalError, "The completion fails")),
		},
		{
			Name: "completion-unwrapped", Does: "returns the values of completions without the member completion",
			CaughtBy: []string{"completion.result"},
			Apply: onResult(completeMethod, func(o server.Object) {
				o["values"] = o["completion"].(server.Object)["values"]
				delete(o, "completion")
			}),
		},
		{
			Name: "completion-values-labelled", Does: "returns completions as objects with a label",
			CaughtBy: []string{"completion.result"},
			Apply: onCompletion(func(c server.Object) {
				values := c["values"].([]any)
				for i, v := range values {
					values[i] = server.Object{"label": v}
				}
			}),
		},
		{
			Name: "completion-without-bound", Does: "returns 140 completions",
			CaughtBy: []string{"completion.values.most"},
			Apply: onCompletion(func(c server.Object) {
				if values := c["values"].([]any); len(values) == 100 {
					for n := range 40 {
						values = append(values, fmt.Sprintf("D%d", n+1))
					}
					c["values"] = values
				}
			}),
		},
		{
			Name: "completion-total-word", Does: "writes the total of completions as a string",
			CaughtBy: []string{"completion.total"},
			Apply:    onCompletion(func(c server.Object) { c["total"] = fmt.Sprint(c["total"]) }),
		},
		{
			Name: "completion-total-null", Does: "writes the total of completions as null",
			CaughtBy: []string{"completion.total"},
			Apply:    onCompletion(set("total", nil)),
		},
		{
			Name: "completion-has-more-count", Does: "writes hasMore of completions as a number",
			CaughtBy: []string{"completion.has-more"},
			Apply:    onCompletion(set("hasMore", 0)),
		},
		{
			Name: "completion-irrelevant", Does: "returns all completions, in alphabetical order",
			CaughtBy: []string{"completion.relevance"},
			Apply: onRequest(completeMethod, func(r *server.Request) {
				if argument, ok := r.Params["argument"].(server.Object); ok {
					if _, text := argument["value"].(string); text {
						argument["value"] = ""
					}
				}
			}),
		},
	}
}

// completionRequests are faults in how requests with unusual inputs are answered.
func completionRequests() []Fault {
	isObject := func(_, argument server.Object) bool {
		_, object := argument["value"].(server.Object)
		return object
	}
	isLong := func(_, argument server.Object) bool { return len(asText(argument["value"])) > 4096 }
	return []Fault{
		{
			Name: "completion-context-refused", Does: "refuses completions with a context",
			CaughtBy: []string{"completion.context", "completion.context.advised"},
			Apply: answerWhen(func(r *server.Request) bool {
				return r.Method == completeMethod && r.Params["context"] != nil
			},
				failWith(spec.InvalidParams, "The parameter context is not known")),
		},
		{
			Name: "completion-unknown-prompt-empty", Does: "returns no completions for unknown prompts",
			CaughtBy: []string{"completion.ref.unknown"},
			Apply:    errorToResult(completeMethod, hasMessage("Unknown prompt"), noCompletions),
		},
		{
			Name: "completion-argument-missing-code", Does: "answers a completion without argument with error -32603",
			CaughtBy: []string{"completion.argument.missing"},
			Apply: answerWhen(isCompletion(func(ref, argument server.Object) bool {
				return ref != nil && argument == nil
			}),
				failWith(spec.InternalError, "The argument is missing")),
		},
		{
			Name: "completion-any-reference", Does: "returns no completions for references of unknown types",
			CaughtBy: []string{"completion.inputs.refused"},
			Apply: answerWhen(isCompletion(func(ref, _ server.Object) bool {
				return ref != nil && ref["type"] != "ref/prompt" && ref["type"] != "ref/resource"
			}), noCompletions),
		},
		{
			Name: "completion-any-value", Does: "returns no completions for a value that is an object",
			CaughtBy: []string{"completion.inputs.refused"},
			Apply:    answerWhen(isCompletion(isObject), noCompletions),
		},
		{
			Name: "completion-object-unanswered", Does: "does not answer completions of a value that is an object",
			CaughtBy: []string{"completion.inputs.survived"},
			Apply:    withhold(isResponseWhen(isCompletion(isObject))),
		},
		{
			Name: "completion-long-unanswered", Does: "does not answer completions of long values",
			CaughtBy: []string{"completion.inputs.survived"},
			Apply:    withhold(isResponseWhen(isCompletion(isLong))),
		},
	}
}

// completionHTTP are faults of completions over streamable HTTP.
func completionHTTP() []Fault {
	return []Fault{{
		Name: "http-completion-fails", Does: "answers a completion for a reference of an unknown type with status 500",
		CaughtBy: []string{"completion.inputs.survived"},
		Apply: respond(posts(func(m wire.Message) bool {
			return m.Method() == completeMethod && m.Params().Get("ref.type").Str == "ref/mcpcheck"
		}), http.StatusInternalServerError, "", ""),
	}}
}
