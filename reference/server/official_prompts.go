package server

// prompts returns the prompts of the contract.
func (o *officialFeatures) prompts() []*Prompt {
	return []*Prompt{
		{
			Name: "test_simple_prompt", Description: "One sentence",
			Messages: fixedPrompt(textPrompt("This is a simple prompt for testing.")...),
		},
		{
			Name: "test_prompt_with_arguments", Description: "Says its arguments",
			Args: []Argument{
				{"arg1", "First", "First test argument", true},
				{"arg2", "Second", "Second test argument", true},
			},
			Messages: func(p *promptGet) []Message {
				return textPrompt("Prompt with arguments: arg1='%s', arg2='%s'", p.Args["arg1"], p.Args["arg2"])
			},
		},
		{
			Name: "test_prompt_with_embedded_resource", Description: "Holds a resource",
			Args: []Argument{{"resourceUri", "Resource", "URI of the resource to embed", true}},
			Messages: func(p *promptGet) []Message {
				const content = "Embedded resource content for testing."
				return []Message{
					userMessage(embeddedBlock(textContents(p.Args["resourceUri"], "text/plain", content))),
					userMessage(textBlock("Please process the embedded resource above.")),
				}
			},
		},
		{
			Name: "test_prompt_with_image", Description: "Shows a picture",
			Messages: fixedPrompt(
				userMessage(unannotatedImage()),
				userMessage(textBlock("Please analyze the image above.")),
			),
		},
		{
			Name: "test_input_required_result_prompt", Description: "Asks the user for its context",
			In: elicitationRevisions,
			InputRequests: func() []InputRequest {
				const message = "What context should the prompt use?"
				return []InputRequest{fieldElicitation("user_context", message, "context", "string")}
			},
			Messages: func(p *promptGet) []Message {
				context := "no context"
				if answer, ok := p.Answers["user_context"]["content"].(Object); ok {
					context = stringOf(answer["context"])
				}
				return textPrompt("Answer in this context: %s", context)
			},
		},
		{
			Name: "test_dynamic_prompt", Description: "Comes and goes",
			Offered:  func(*Features) bool { return o.promptListed.Load() },
			Messages: fixedPrompt(textPrompt("I am still here.")...),
		},
	}
}
