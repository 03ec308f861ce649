package fault

import (
	"context"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

func officialOffers() []Fault {
	reading := func(uri string, edit func(contents server.Object)) apply {
		return onEntries("resources/read", "contents", func(contents server.Object) {
			if contents["uri"] == uri {
				edit(contents)
			}
		})
	}
	getting := func(prompt string, edit func(messages []any)) apply {
		return onHandler(func(next server.Handler) server.Handler {
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				v, problem := next(ctx, r)
				if o, ok := v.(server.Object); ok && r.Method == "prompts/get" && r.Params["name"] == prompt {
					edit(o["messages"].([]any))
				}
				return v, problem
			}
		})
	}
	content := func(messages []any, at int) server.Object {
		return messages[at].(server.Object)["content"].(server.Object)
	}
	return []Fault{
		{
			Name: "contract-text-empty", Does: "reads test://static-text as an empty text",
			CaughtBy: []string{"official.resources.text"},
			Apply:    reading("test://static-text", set("text", "")),
		},
		{
			Name: "contract-binary-no-picture", Does: "reads test://static-binary as a text that it calls a PNG",
			CaughtBy: []string{"official.resources.binary"},
			Apply:    reading("test://static-binary", set("blob", "SGVsbG8=")),
		},
		{
			Name: "contract-prompt-of-assistant", Does: "has the assistant say test_simple_prompt",
			CaughtBy: []string{"official.prompts.simple"},
			Apply:    getting("test_simple_prompt", func(messages []any) { messages[0].(server.Object)["role"] = "assistant" }),
		},
		{
			Name: "contract-prompt-no-picture", Does: "shows a text as the PNG of test_prompt_with_image",
			CaughtBy: []string{"official.prompts.image"},
			Apply:    getting("test_prompt_with_image", func(messages []any) { content(messages, 0)["data"] = "SGVsbG8=" }),
		},
		{
			Name: "contract-text-reworded", Does: "reads test://static-text as another sentence", In: further,
			CaughtBy: []string{"official.documented"},
			Apply:    reading("test://static-text", set("text", "This is the content.")),
		},
		{
			Name: "contract-binary-as-stream", Does: "calls the picture of test://static-binary application/octet-stream", In: further,
			CaughtBy: []string{"official.documented"},
			Apply:    reading("test://static-binary", set("mimeType", "application/octet-stream")),
		},
		{
			Name: "contract-template-unfilled", Does: "does not fill the id into test://template/{id}/data",
			CaughtBy: []string{"official.resources.template"},
			Apply:    reading("test://template/123/data", set("text", `{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}`)),
		},
		{
			Name: "contract-template-unlisted", Does: "does not list test://template/{id}/data as a template", In: further,
			CaughtBy: []string{"official.resources.template"},
			Apply: onResult("resources/templates/list", func(o server.Object) {
				kept := []any{}
				for _, t := range o["resourceTemplates"].([]any) {
					if t.(server.Object)["uriTemplate"] != "test://template/{id}/data" {
						kept = append(kept, t)
					}
				}
				o["resourceTemplates"] = kept
			}),
		},
		{
			Name: "contract-prompt-reworded", Does: "says another sentence in test_simple_prompt", In: further,
			CaughtBy: []string{"official.documented"},
			Apply:    getting("test_simple_prompt", func(messages []any) { content(messages, 0)["text"] = "This is a prompt." }),
		},
		{
			Name: "contract-prompt-arguments-swapped", Does: "swaps the arguments of test_prompt_with_arguments", In: further,
			CaughtBy: []string{"official.documented"},
			Apply: getting("test_prompt_with_arguments", func(messages []any) {
				content(messages, 0)["text"] = "Prompt with arguments: arg1='testValue2', arg2='testValue1'"
			}),
		},
		{
			Name: "contract-prompt-argument-optional", Does: "lists arg2 of test_prompt_with_arguments as optional",
			CaughtBy: []string{"official.prompts.arguments"},
			Apply: onEntries("prompts/list", "prompts", func(prompt server.Object) {
				if prompt["name"] == "test_prompt_with_arguments" {
					prompt["arguments"].([]any)[1].(server.Object)["required"] = false
				}
			}),
		},
		{
			Name: "contract-prompt-resource-fixed", Does: "embeds the same resource in test_prompt_with_embedded_resource, whatever its argument",
			CaughtBy: []string{"official.prompts.embedded-resource"},
			Apply: getting("test_prompt_with_embedded_resource", func(messages []any) {
				content(messages, 0)["resource"].(server.Object)["uri"] = "test://static-text"
			}),
		},
		{
			Name: "contract-prompt-picture-as-jpeg", Does: "calls the picture of test_prompt_with_image a JPEG", In: further,
			CaughtBy: []string{"official.documented"},
			Apply:    getting("test_prompt_with_image", func(messages []any) { content(messages, 0)["mimeType"] = "image/jpeg" }),
		},
	}
}
