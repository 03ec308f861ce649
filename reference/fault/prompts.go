package fault

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// prompts are the faults of server/prompts.
func prompts() []Fault {
	return slices.Concat(promptLists(), promptDefinitions(), promptMessages(), promptGets())
}

// onPrompt changes a prompt wherever it is listed.
func onPrompt(name string, edit func(prompt server.Object)) apply {
	return onEntries("prompts/list", "prompts", func(p server.Object) {
		if p["name"] == name {
			edit(p)
		}
	})
}

// onPromptBlock changes the content blocks of a type in the messages of prompts.
func onPromptBlock(kind string, edit func(block server.Object)) apply {
	return onEntries("prompts/get", "messages", func(message server.Object) {
		if block, ok := message["content"].(server.Object); ok && block["type"] == kind {
			edit(block)
		}
	})
}

// addPrompt puts a prompt on the last page of the list.
func addPrompt(list server.Object, name string) {
	if list["nextCursor"] == nil {
		list["prompts"] = append(list["prompts"].([]any), server.Object{"name": name})
	}
}

// promptLists are the faults of #capabilities and #listing-prompts.
func promptLists() []Fault {
	return []Fault{
		{
			Name: "prompts-undeclared", Does: "lists prompts without declaring the capability",
			CaughtBy: []string{"prompts.capability.declared"},
			Apply:    unspoken("prompts"),
		},
		{
			Name: "prompts-as-object", Does: "lists prompts as an object by their names",
			CaughtBy: []string{"prompts.list.array"},
			Apply:    listAsObject("prompts/list", "prompts", "name"),
		},
		{
			Name: "prompts-list-fails", Does: "declares prompts and answers prompts/list with an error",
			CaughtBy: []string{"prompts.list.answered"},
			Apply:    instead("prompts/list", outOfOrder),
		},
		{
			Name: "prompts-by-connection", Does: "lists a prompt on each connection that no other has",
			CaughtBy: []string{"prompts.list.everywhere"},
			Apply:    byConnection("prompts/list", addPrompt),
		},
		{
			Name: "prompts-as-side-effect", Does: "lists one prompt more on a connection on which resources were listed",
			CaughtBy: []string{"prompts.list.everywhere"},
			Apply:    asSideEffect("resources/list", "prompts/list", addPrompt),
		},
	}
}

// promptDefinitions are the faults of #prompt.
func promptDefinitions() []Fault {
	return []Fault{
		{
			Name: "prompt-without-name", Does: "lists a prompt that has no name",
			CaughtBy: []string{"prompts.name.string"},
			Apply:    onPrompt("daily_quiz", func(p server.Object) { delete(p, "name") }),
		},
		{
			Name: "prompt-name-twice", Does: "calls two prompts by the same name",
			CaughtBy: []string{"prompts.name.unique"},
			Apply:    onPrompt("daily_quiz", func(p server.Object) { p["name"] = "story_hour" }),
		},
		{
			Name: "prompt-description-null", Does: "gives a prompt the description null",
			CaughtBy: []string{"prompts.optional"},
			Apply:    onPrompt("daily_quiz", func(p server.Object) { p["description"] = nil }),
		},
		{
			Name: "prompt-arguments-object", Does: "lists the arguments of a prompt as an object by their names",
			CaughtBy: []string{"prompts.optional"},
			Apply:    onPrompt("overdue_notice", func(p server.Object) { p["arguments"] = server.Object{"reader": server.Object{"required": true}} }),
		},
		{
			Name: "argument-required-word", Does: "says by a word whether the arguments of prompts are required",
			CaughtBy: []string{"prompts.arguments"},
			Apply:    onArguments("compare_books", func(arg server.Object) { arg["required"] = "yes" }),
		},
		{
			Name: "argument-without-name", Does: "lists an argument of a prompt that has no name",
			CaughtBy: []string{"prompts.arguments"},
			Apply:    onArguments("shelve_cart", func(arg server.Object) { delete(arg, "name") }),
		},
	}
}

func onArguments(prompt string, edit func(arg server.Object)) apply {
	return onPrompt(prompt, func(p server.Object) {
		for _, arg := range p["arguments"].([]any) {
			edit(arg.(server.Object))
		}
	})
}

// promptMessages are the faults of #promptmessage.
func promptMessages() []Fault {
	return []Fault{
		{
			Name: "messages-object", Does: "gets a prompt as one message where an array belongs",
			CaughtBy: []string{"prompts.get.result"},
			Apply: onResult("prompts/get", func(o server.Object) {
				if list, ok := o["messages"].([]any); ok && len(list) == 1 {
					o["messages"] = list[0]
				}
			}),
		},
		{
			Name: "get-description-null", Does: "gets a prompt with the description null",
			CaughtBy: []string{"prompts.get.result"},
			Apply: onResult("prompts/get", func(o server.Object) {
				if o["messages"] != nil {
					o["description"] = nil
				}
			}),
		},
		{
			Name: "prompt-image-type-word", Does: "names the type of a picture in a prompt by a word",
			Breaks:   []string{"prompts-image-content"},
			CaughtBy: []string{"prompts.media.type"},
			Apply:    onPromptBlock("image", func(b server.Object) { b["mimeType"] = "png" }),
		},
		{
			Name: "prompt-audio-type-word", Does: "names the type of a sound in a prompt by a word", In: spec.Since(spec.V2025_03_26),
			Breaks:   []string{"prompts-audio-content"},
			CaughtBy: []string{"prompts.media.type"},
			Apply:    onPromptBlock("audio", func(b server.Object) { b["mimeType"] = "wav" }),
		},
		{
			Name: "prompt-resource-path", Does: "embeds a resource in a prompt by a path",
			CaughtBy: []string{"prompts.resource.uri"},
			Apply:    onPromptResource(func(r server.Object) { r["uri"] = "books/b1" }),
		},
		{
			Name: "prompt-resource-untyped", Does: "embeds a resource in a prompt without its media type",
			CaughtBy: []string{"prompts.resource.type"},
			Apply:    onPromptResource(func(r server.Object) { delete(r, "mimeType") }),
		},
		{
			Name: "prompt-resource-hollow", Does: "embeds a resource in a prompt without what is in it",
			Breaks:   []string{"prompts-embedded-resource-data"},
			CaughtBy: []string{"schema.content.resource"},
			Apply:    onPromptResource(func(r server.Object) { delete(r, "text") }),
		},
	}
}

func onPromptResource(edit func(resource server.Object)) apply {
	return onPromptBlock("resource", func(b server.Object) { edit(b["resource"].(server.Object)) })
}

// promptGets are the faults of #error-handling and
// #implementation-considerations.
func promptGets() []Fault {
	return []Fault{
		{
			Name: "unknown-prompt-internal-error", Does: "answers for a prompt that does not exist with error -32603",
			CaughtBy: []string{"prompts.get.unknown"},
			Apply:    onPromptError("Unknown prompt", func(e *server.Error) (any, *server.Error) { return nil, coded(e, spec.InternalError) }),
		},
		{
			Name: "unknown-prompt-empty", Does: "gets a prompt that does not exist as one without messages",
			CaughtBy: []string{"prompts.get.unknown"},
			Apply: onPromptError("Unknown prompt", func(*server.Error) (any, *server.Error) {
				return complete(server.Object{"messages": []any{}}), nil
			}),
		},
		{
			Name: "argument-missing-internal-error", Does: "answers for a missing argument of a prompt with error -32603",
			CaughtBy: []string{"prompts.get.arguments.missing"},
			Apply:    onPromptError("The argument genre is missing", func(e *server.Error) (any, *server.Error) { return nil, coded(e, spec.InternalError) }),
		},
		{
			Name: "argument-missing-filled-in", Does: "fills in a missing argument of a prompt with nothing",
			CaughtBy: []string{"prompts.get.arguments.missing"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if r.Method == "prompts/get" && r.Params["name"] == "recommend_book" && r.Params["arguments"] == nil {
						r.Params["arguments"] = server.Object{"genre": ""}
					}
					return next(ctx, r)
				}
			}),
		},
		{
			Name: "prompt-fails-with-500", Does: "answers the getting of a prompt that it lists with the code 500",
			CaughtBy: []string{"prompts.get.failure"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if r.Method == "prompts/get" && r.Params["name"] == "daily_quiz" {
						return nil, &server.Error{Code: 500, Message: "There is no quiz today"}
					}
					return next(ctx, r)
				}
			}),
		},
		{
			Name: "argument-object-taken", Does: "makes prompts of arguments that are objects",
			CaughtBy: []string{"prompts.get.arguments.validated"},
			Apply: onRequest("prompts/get", func(r *server.Request) {
				args, _ := r.Params["arguments"].(server.Object)
				for name, v := range args {
					if o, ok := v.(server.Object); ok {
						args[name] = string(encode(o))
					}
				}
			}),
		},
	}
}

// onPromptError changes the errors of prompts/get whose message begins so.
func onPromptError(message string, edit func(e *server.Error) (any, *server.Error)) apply {
	return onError("prompts/get", func(_ *server.Request, e *server.Error) (any, *server.Error) {
		if strings.HasPrefix(e.Message, message) {
			return edit(e)
		}
		return nil, e
	})
}

// coded is an error under another code.
func coded(e *server.Error, code int) *server.Error {
	other := *e
	other.Code = code
	return &other
}
