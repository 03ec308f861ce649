package fault

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onCompletion changes the completions.
func onCompletion(edit func(completion server.Object)) apply {
	return onResult("completion/complete", func(o server.Object) { edit(o["completion"].(server.Object)) })
}

// nothing completes nothing.
func nothing() server.Object {
	return complete(server.Object{"completion": server.Object{"values": []any{}}})
}

// onCompletionOf answers completions that the condition holds for in another
// way.
func onCompletionOf(when func(ref, argument server.Object) bool, answer func() (any, *server.Error)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			ref, _ := r.Params["ref"].(server.Object)
			argument, _ := r.Params["argument"].(server.Object)
			if r.Method == "completion/complete" && when(ref, argument) {
				return answer()
			}
			return next(ctx, r)
		}
	})
}

// swallowsCompletion does not answer completions whose value is one that it
// chokes on.
func swallowsCompletion(chokes func(value any) bool) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if f.Method == "completion/complete" && f.Request != nil {
				if argument, ok := f.Request.Params["argument"].(server.Object); ok && chokes(argument["value"]) {
					return
				}
			}
			next(f)
		}
	})
}

// completion are the faults of server/utilities/completion.
func completion() []Fault {
	return []Fault{
		{
			Name: "completion-undeclared", Does: "completes arguments without declaring the capability",
			CaughtBy: []string{"completion.capability.declared"},
			Apply:    undeclared("completions"),
		},
		{
			Name: "completion-unsupported-code", Does: "has no completions, and answers completion/complete with error -32602",
			CaughtBy: []string{"completion.unsupported"},
			Apply: all(
				func(o *server.Options) { o.Library = without("completions") },
				instead("completion/complete", func(*server.Request) (any, *server.Error) {
					return nil, &server.Error{Code: spec.InvalidParams, Message: "Nothing is completed here"}
				})),
		},
		{
			Name: "completion-unsupported-empty", Does: "has no completions, and answers completion/complete with none",
			CaughtBy: []string{"completion.unsupported"},
			Apply: all(
				func(o *server.Options) { o.Library = without("completions") },
				instead("completion/complete", func(*server.Request) (any, *server.Error) { return nothing(), nil })),
		},
		{
			Name: "completes-prompts-only", Does: "has no method for completions of resource templates",
			CaughtBy: []string{"completion.refs"},
			Apply: onCompletionOf(
				func(ref, _ server.Object) bool { return ref["type"] == "ref/resource" },
				func() (any, *server.Error) {
					return nil, &server.Error{Code: spec.MethodNotFound, Message: "Templates are not completed"}
				}),
		},
		{
			Name: "completion-bare", Does: "answers completions with the values alone",
			CaughtBy: []string{"completion.result"},
			Apply: onResult("completion/complete", func(o server.Object) {
				o["values"] = o["completion"].(server.Object)["values"]
				delete(o, "completion")
			}),
		},
		{
			Name: "completion-values-labelled", Does: "completes with objects that have a label",
			CaughtBy: []string{"completion.result"},
			Apply: onCompletion(func(c server.Object) {
				for i, v := range c["values"].([]any) {
					c["values"].([]any)[i] = server.Object{"label": v}
				}
			}),
		},
		{
			Name: "completion-without-bound", Does: "completes with 140 values",
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
			Name: "completion-total-word", Does: "tells the total of completions as a string",
			CaughtBy: []string{"completion.total"},
			Apply:    onCompletion(func(c server.Object) { c["total"] = fmt.Sprint(c["total"]) }),
		},
		{
			Name: "completion-total-null", Does: "tells the total of completions as null",
			CaughtBy: []string{"completion.total"},
			Apply:    onCompletion(func(c server.Object) { c["total"] = nil }),
		},
		{
			Name: "completion-has-more-count", Does: "tells by a number whether there are more completions",
			CaughtBy: []string{"completion.has-more"},
			Apply:    onCompletion(func(c server.Object) { c["hasMore"] = 0 }),
		},
		{
			Name: "completion-fails-with-1", Does: "answers completions of an argument with the code 1",
			CaughtBy: []string{"completion.failure"},
			Apply: onCompletionOf(
				func(ref, argument server.Object) bool {
					return ref["name"] == "overdue_notice" && argument["name"] == "reader"
				},
				func() (any, *server.Error) { return nil, &server.Error{Code: 1, Message: "The readers are out"} }),
		},
		{
			Name: "completion-irrelevant", Does: "completes with all that it knows, in the order of the alphabet",
			CaughtBy: []string{"completion.relevance"},
			Apply: onRequest("completion/complete", func(r *server.Request) {
				if argument, ok := r.Params["argument"].(server.Object); ok && argument["value"] != nil {
					if _, text := argument["value"].(string); text {
						argument["value"] = ""
					}
				}
			}),
		},
		{
			Name: "completion-context-refused", Does: "refuses completions that tell what was filled in before",
			CaughtBy: []string{"completion.context", "completion.context.advised"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if r.Method == "completion/complete" && r.Params["context"] != nil {
						return nil, &server.Error{Code: spec.InvalidParams, Message: "The parameter context is not known"}
					}
					return next(ctx, r)
				}
			}),
		},
		{
			Name: "completion-unknown-prompt-empty", Does: "completes arguments of prompts that do not exist with nothing",
			CaughtBy: []string{"completion.ref.unknown"},
			Apply: onError("completion/complete", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				if strings.HasPrefix(e.Message, "Unknown prompt") {
					return nothing(), nil
				}
				return nil, e
			}),
		},
		{
			Name: "completion-argument-missing-code", Does: "answers a completion without argument with error -32603",
			CaughtBy: []string{"completion.argument.missing"},
			Apply: onCompletionOf(
				func(ref, argument server.Object) bool { return ref != nil && argument == nil },
				func() (any, *server.Error) {
					return nil, &server.Error{Code: spec.InternalError, Message: "There is no argument"}
				}),
		},
		{
			Name: "completion-any-reference", Does: "completes for references of unknown types",
			CaughtBy: []string{"completion.inputs.refused"},
			Apply: onCompletionOf(
				func(ref, _ server.Object) bool {
					return ref != nil && ref["type"] != "ref/prompt" && ref["type"] != "ref/resource"
				},
				func() (any, *server.Error) { return nothing(), nil }),
		},
		{
			Name: "completion-any-value", Does: "completes what is no text",
			CaughtBy: []string{"completion.inputs.refused"},
			Apply: onCompletionOf(
				func(_, argument server.Object) bool { _, object := argument["value"].(server.Object); return object },
				func() (any, *server.Error) { return nothing(), nil }),
		},
		{
			Name: "completion-object-swallowed", Does: "does not answer completions of what is no text",
			CaughtBy: []string{"completion.inputs.survived"},
			Apply:    swallowsCompletion(func(value any) bool { _, object := value.(server.Object); return object }),
		},
		{
			Name: "completion-long-swallowed", Does: "does not answer completions of long values",
			CaughtBy: []string{"completion.inputs.survived"},
			Apply:    swallowsCompletion(func(value any) bool { text, _ := value.(string); return len(text) > 4096 }),
		},
	}
}
