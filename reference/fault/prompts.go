package fault

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// promptsFaults are the faults of server/prompts.
func promptsFaults() []Fault {
	return slices.Concat(promptLists(), promptDefinitions(), promptMessages(), listedPrompts(), promptGets(),
		[]Fault{
			exitsOn("prompts/list", "prompts.list.survived"), hangsOn("prompts/list", "prompts.list.survived"),
			exitsOn("prompts/get", "prompts.get.survived"), hangsOn("prompts/get", "prompts.get.survived"),
			silentOn("prompts/get", "prompts.get.survived"),
		})
}

// onPrompt changes a prompt wherever it is listed.
func onPrompt(name string, edit func(prompt server.Object)) apply {
	return onEntry("prompts/list", "prompts", "name", name, edit)
}

// addPrompt puts a prompt on the last page of a list.
func addPrompt(list server.Object, name string) {
	if list["nextCursor"] == nil {
		list["prompts"] = append(list["prompts"].([]any), server.Object{"name": name})
	}
}

// promptLists are the faults of #capabilities, #listing-prompts and
// #list-changed-notification.
func promptLists() []Fault {
	return []Fault{
		{
			Name: "prompts-list-broken", Does: "answers prompts/list with an error, in earlier revisions",
			CaughtBy: []string{"prompts.list.succeeds"},
			Apply:    answerInstead("prompts/list", failWith(spec.InternalError, "There is no list")),
		},
		{
			Name: "prompts-undeclared", Does: "lists prompts without declaring the capability",
			CaughtBy: []string{"prompts.capability.declared"},
			Apply:    undeclaredList("prompts"),
		},
		{
			Name: "prompts-as-object", Does: "lists prompts as an object by name",
			CaughtBy: []string{"prompts.list.array"},
			Apply:    arrayToObject("prompts/list", "prompts", "name"),
		},
		{
			Name: "prompts-list-fails", Does: "declares prompts and answers prompts/list with an error",
			CaughtBy: []string{"prompts.list.answered"},
			Apply:    answerInstead("prompts/list", failWith(spec.InternalError, "The prompts cannot be listed")),
		},
		{
			Name: "prompts-by-connection", Does: "lists a prompt on each connection that no other connection lists",
			CaughtBy: []string{"prompts.list.everywhere"},
			Also:     map[string]string{"prompts.listed.answered": "the server does not have the prompt that it lists"},
			Apply:    listByConnection("prompts/list", addPrompt),
		},
		{
			Name: "prompts-as-side-effect", Does: "lists one more prompt on a connection once resources were listed",
			CaughtBy: []string{"prompts.list.everywhere"},
			Also:     map[string]string{"prompts.listed.answered": "the server has no such prompt"},
			Apply:    listAfter("resources/list", "prompts/list", addPrompt),
		},
		{
			Name:     "prompts-change-undeclared",
			Does:     "sends notifications of changes of prompts without declaring prompts.listChanged",
			CaughtBy: []string{"prompts.list-changed.undeclared", "prompts.list-changed.undeclared.advised"},
			Apply:    combine(undeclaredFeature("prompts", "listChanged"), unacknowledged("promptsListChanged")),
		},
	}
}

// promptDefinitions are the faults of #prompt.
func promptDefinitions() []Fault {
	onArguments := func(prompt string, edit func(arg server.Object)) apply {
		return onPrompt(prompt, func(p server.Object) {
			for _, arg := range p["arguments"].([]any) {
				edit(arg.(server.Object))
			}
		})
	}
	return []Fault{
		{
			Name: "prompt-without-name", Does: "lists a prompt without a name",
			CaughtBy: []string{"prompts.name.string"},
			Apply:    onPrompt("daily_quiz", remove("name")),
		},
		{
			Name: "prompt-name-twice", Does: "lists two prompts of the same name",
			CaughtBy: []string{"prompts.name.unique"},
			Apply:    onPrompt("daily_quiz", set("name", "story_hour")),
		},
		{
			Name: "prompt-description-null", Does: "writes the description of a prompt as null",
			CaughtBy: []string{"prompts.optional"},
			Apply:    onPrompt("daily_quiz", set("description", nil)),
		},
		{
			Name: "prompt-arguments-object", Does: "lists the arguments of a prompt as an object by name",
			CaughtBy: []string{"prompts.optional"},
			Apply: onPrompt("overdue_notice", func(p server.Object) {
				p["arguments"] = server.Object{"reader": server.Object{"required": true}}
			}),
		},
		{
			Name: "argument-required-word", Does: "writes whether the arguments of a prompt are required as a string",
			CaughtBy: []string{"prompts.arguments"},
			Apply:    onArguments("compare_books", set("required", "yes")),
		},
		{
			Name: "argument-without-name", Does: "lists an argument of a prompt without a name",
			CaughtBy: []string{"prompts.arguments"},
			Apply:    onArguments("shelve_cart", remove("name")),
		},
	}
}

// onPromptResource changes the embedded resources in the messages of prompts.
func onPromptResource(edit func(resource server.Object)) apply {
	return onPromptBlock("resource", func(b server.Object) { edit(b["resource"].(server.Object)) })
}

// promptMessages are the faults of #promptmessage.
func promptMessages() []Fault {
	return []Fault{
		{
			Name: "messages-object", Does: "writes the messages of a prompt as an object",
			CaughtBy: []string{"prompts.get.result"},
			Apply: onResult("prompts/get", func(o server.Object) {
				if list, ok := o["messages"].([]any); ok && len(list) == 1 {
					o["messages"] = list[0]
				}
			}),
		},
		{
			Name: "get-description-null", Does: "writes the description of a prompt in prompts/get as null",
			CaughtBy: []string{"prompts.get.result"},
			Apply: onResult("prompts/get", func(o server.Object) {
				if o["messages"] != nil {
					o["description"] = nil
				}
			}),
		},
		{
			Name: "prompt-image-type-word", Does: "writes the mimeType of an image in a prompt as png",
			Breaks:   []string{"prompts-image-content"},
			CaughtBy: []string{"prompts.media.type"},
			Apply:    onPromptBlock("image", set("mimeType", "png")),
		},
		{
			Name: "prompt-audio-type-word",
			Does: "writes the mimeType of audio in a prompt as wav", In: spec.Since(spec.V2025_03_26),
			Breaks:   []string{"prompts-audio-content"},
			CaughtBy: []string{"prompts.media.type"},
			Apply:    onPromptBlock("audio", set("mimeType", "wav")),
		},
		{
			Name: "prompt-resource-path", Does: "embeds a resource in a prompt by a path",
			CaughtBy: []string{"prompts.resource.uri"},
			Apply:    onPromptResource(set("uri", "books/b1")),
		},
		{
			Name: "prompt-resource-untyped", Does: "embeds a resource in a prompt without a mimeType",
			CaughtBy: []string{"prompts.resource.type"},
			Apply:    onPromptResource(remove("mimeType")),
		},
	}
}

// listedPrompts are faults in how requests for listed prompts are answered.
func listedPrompts() []Fault {
	return []Fault{
		{
			Name: "listed-prompt-fails", Does: "answers the request for a listed prompt with an error",
			CaughtBy: []string{"prompts.listed.answered"},
			Apply:    answerWhen(isPromptGet("daily_quiz"), failWith(spec.InternalError, "There is no quiz")),
		},
		{
			Name: "prompt-arguments-expected", Does: "refuses the request for a prompt without the member arguments",
			CaughtBy: []string{"prompts.get.arguments.optional"},
			Apply: answerWhen(func(r *server.Request) bool {
				return isPromptGet("daily_quiz")(r) && r.Params["arguments"] == nil
			}, failWith(spec.InvalidParams, "The arguments are missing")),
		},
	}
}

// promptGets are the faults of #error-handling and #implementation-considerations.
func promptGets() []Fault {
	unknown, missing := hasMessage("Unknown prompt"), hasMessage("The argument genre is missing")
	return []Fault{
		{
			Name: "unknown-prompt-internal-error", Does: "answers for an unknown prompt with error -32603",
			CaughtBy: []string{"prompts.get.unknown"},
			Apply:    recode("prompts/get", unknown, spec.InternalError),
		},
		{
			Name: "unknown-prompt-empty", Does: "gets an unknown prompt as one without messages",
			CaughtBy: []string{"prompts.get.unknown"},
			Apply:    errorToResult("prompts/get", unknown, succeedWith(server.Object{"messages": []any{}})),
		},
		{
			Name:     "argument-missing-internal-error",
			Does:     "answers for a missing argument of a prompt with error -32603",
			CaughtBy: []string{"prompts.get.arguments.missing"},
			Apply:    recode("prompts/get", missing, spec.InternalError),
		},
		{
			Name: "argument-missing-filled-in", Does: "takes a missing argument of a prompt for an empty one",
			CaughtBy: []string{"prompts.get.arguments.missing"},
			Apply: onRequestWhen(isPromptGet("recommend_book"), func(r *server.Request) {
				if r.Params["arguments"] == nil {
					r.Params["arguments"] = server.Object{"genre": ""}
				}
			}),
		},
		{
			Name: "argument-object-taken", Does: "accepts arguments of prompts that are objects",
			CaughtBy: []string{"prompts.get.arguments.validated"},
			Apply: onRequest("prompts/get", func(r *server.Request) {
				args, _ := r.Params["arguments"].(server.Object)
				for name, v := range args {
					if o, ok := v.(server.Object); ok {
						args[name] = string(wire.Encode(o))
					}
				}
			}),
		},
	}
}
