package fault

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onContentsOf changes the contents of a URI in results of resources/read.
func onContentsOf(uri string, edit func(contents server.Object)) apply {
	return onEntry("resources/read", "contents", "uri", uri, edit)
}

// officialOffers are faults in the resources of the contract.
func officialOffers() []Fault {
	const template = "test://template/{id}/data"
	return []Fault{
		{
			Name: "contract-text-empty", Does: "returns an empty text for test://static-text",
			CaughtBy: []string{"official.resources.text"},
			Apply:    onContentsOf("test://static-text", set("text", "")),
		},
		{
			Name: "contract-binary-no-picture", Does: "returns a text as the PNG of test://static-binary",
			CaughtBy: []string{"official.resources.binary"},
			Apply:    onContentsOf("test://static-binary", set("blob", helloBase64)),
		},
		{
			Name: "contract-text-reworded", Does: "returns another sentence for test://static-text", In: oneRevision,
			CaughtBy: documented,
			Apply:    onContentsOf("test://static-text", set("text", "This is the content.")),
		},
		{
			Name: "contract-binary-as-stream",
			Does: "returns the image of test://static-binary as application/octet-stream", In: oneRevision,
			CaughtBy: documented,
			Apply:    onContentsOf("test://static-binary", set("mimeType", "application/octet-stream")),
		},
		{
			Name: "contract-template-unfilled", Does: "does not replace the id in " + template,
			CaughtBy: []string{"official.resources.template"},
			Apply: onContentsOf("test://template/123/data",
				set("text", `{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}`)),
		},
		{
			Name: "contract-template-unlisted", Does: "does not list " + template + " as a template", In: oneRevision,
			CaughtBy: []string{"official.resources.template"},
			Apply: onResult("resources/templates/list", func(o server.Object) {
				o["resourceTemplates"] = slices.DeleteFunc(o["resourceTemplates"].([]any), func(t any) bool {
					return t.(server.Object)["uriTemplate"] == template
				})
			}),
		},
	}
}

// officialPrompts are faults in the prompts of the contract.
func officialPrompts() []Fault {
	onMessage := func(prompt string, edit func(message server.Object)) apply {
		return onResultWhen(isPromptGet(prompt), func(_ *server.Request, result server.Object) {
			edit(result["messages"].([]any)[0].(server.Object))
		})
	}
	onContent := func(prompt string, edit func(content server.Object)) apply {
		return onMessage(prompt, func(message server.Object) { edit(message["content"].(server.Object)) })
	}
	return []Fault{
		{
			Name: "contract-prompt-of-assistant", Does: "gives the message of test_simple_prompt the role assistant",
			CaughtBy: []string{"official.prompts.simple"},
			Apply:    onMessage("test_simple_prompt", set("role", "assistant")),
		},
		{
			Name: "contract-prompt-no-picture", Does: "returns a text as the PNG of test_prompt_with_image",
			CaughtBy: []string{"official.prompts.image"},
			Apply:    onContent("test_prompt_with_image", set("data", helloBase64)),
		},
		{
			Name: "contract-prompt-reworded", Does: "returns another sentence in test_simple_prompt", In: oneRevision,
			CaughtBy: documented,
			Apply:    onContent("test_simple_prompt", set("text", "This is a prompt.")),
		},
		{
			Name: "contract-prompt-arguments-swapped",
			Does: "swaps the arguments of test_prompt_with_arguments", In: oneRevision,
			CaughtBy: documented,
			Apply: onContent("test_prompt_with_arguments",
				set("text", "Prompt with arguments: arg1='testValue2', arg2='testValue1'")),
		},
		{
			Name: "contract-prompt-argument-optional", Does: "lists arg2 of test_prompt_with_arguments as optional",
			CaughtBy: []string{"official.prompts.arguments"},
			Apply: onPrompt("test_prompt_with_arguments", func(prompt server.Object) {
				prompt["arguments"].([]any)[1].(server.Object)["required"] = false
			}),
		},
		{
			Name:     "contract-prompt-resource-fixed",
			Does:     "embeds the same resource in test_prompt_with_embedded_resource for every argument",
			CaughtBy: []string{"official.prompts.embedded-resource"},
			Apply:    onContent("test_prompt_with_embedded_resource", embedded(set("uri", "test://static-text"))),
		},
		{
			Name: "contract-prompt-picture-as-jpeg",
			Does: "returns the image of test_prompt_with_image as image/jpeg", In: oneRevision,
			CaughtBy: documented,
			Apply:    onContent("test_prompt_with_image", set("mimeType", "image/jpeg")),
		},
	}
}
