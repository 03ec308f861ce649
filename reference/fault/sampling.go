package fault

import (
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// sampling are the faults of client/sampling.
func sampling() []Fault {
	return []Fault{
		{
			Name: "sampling-of-anybody", Does: "asks for sampling where the client declares none",
			Breaks:   []string{"sampling-requires-client-capability"},
			CaughtBy: []string{"lifecycle.capabilities.undeclared", "lifecycle.capabilities.undeclared.advised"},
			Apply:    supposing("sampling"),
		},
		{
			Name: "sampling-of-any-request", Does: "asks for sampling where the request declares none",
			Breaks:   []string{"sampling-requires-client-capability", "mrtr-undeclared-capability-forbidden"},
			CaughtBy: []string{"lifecycle.input.declared"},
			Apply:    supposing("sampling"),
		},
		{
			Name: "sampling-without-max-tokens", Does: "asks for sampling without maxTokens",
			CaughtBy: []string{"sampling.request.params"},
			Apply:    onSampling(func(p server.Object) { delete(p, "maxTokens") }),
		},
		{
			Name: "sampling-message-string", Does: "sends a string as a message for sampling",
			CaughtBy: []string{"sampling.request.message"},
			Apply:    onSampling(func(p server.Object) { p["messages"].([]any)[0] = "Name one book." }),
		},
		{
			Name: "sampling-stop-string", Does: "sends a string as stopSequences",
			CaughtBy: []string{"sampling.request.options"},
			Apply:    onSampling(func(p server.Object) { p["stopSequences"] = "END" }),
		},
		{
			Name: "sampling-temperature-word", Does: "gives the temperature by a word",
			CaughtBy: []string{"sampling.request.options"},
			Apply:    onSampling(func(p server.Object) { p["temperature"] = "cool" }),
		},
		{
			Name: "sampling-context-everything", Does: "wants the model to see everything",
			CaughtBy: []string{"sampling.context.known"},
			Apply:    onSampling(func(p server.Object) { p["includeContext"] = "everything" }),
		},
		{
			Name: "sampling-priority-in-percent", Does: "gives the priorities of a model in percent",
			CaughtBy: []string{"sampling.preferences.priorities"},
			Apply: onSampling(func(p server.Object) {
				if preferences, ok := p["modelPreferences"].(server.Object); ok {
					preferences["speedPriority"] = 80
				}
			}),
		},
		{
			Name: "sampling-hint-strings", Does: "gives the hints at a model as strings",
			CaughtBy: []string{"sampling.preferences.hints"},
			Apply: onSampling(func(p server.Object) {
				if preferences, ok := p["modelPreferences"].(server.Object); ok {
					preferences["hints"] = []any{"small"}
				}
			}),
		},
		{
			Name: "sampled-content-unchecked", Does: "takes content of any type for text",
			CaughtBy: []string{"sampling.result.validated"},
			Apply: onAnswer(func(answer server.Object) {
				if block, ok := answer["content"].(server.Object); ok && answer["role"] != nil {
					block["type"] = "text"
				}
			}),
		},
		{
			Name: "waits-for-refused-sample", Does: "waits on when the client refuses to sample",
			CaughtBy: []string{"sampling.answers.survived"},
			Apply:    unheard("sampling/createMessage", refused),
		},
		{
			Name: "tools-for-any-model", Does: "offers tools to the model of a client that declares no sampling.tools",
			CaughtBy: []string{"sampling.tools.declared"},
			Apply: believing(func(c server.Object) {
				if s, ok := c["sampling"].(server.Object); ok {
					s["tools"] = server.Object{}
				}
			}),
		},
		{
			Name: "context-of-anybody", Does: "wants the context of servers included where the client does not declare that",
			CaughtBy: []string{"sampling.context.declared"},
			Apply:    onAsk("sampling/createMessage", includeContext(false)),
		},
		{
			Name: "context-included", Does: "wants the context of servers included where the client declares that",
			CaughtBy: []string{"sampling.context.avoided"},
			Apply:    onAsk("sampling/createMessage", includeContext(true)),
		},
		{
			Name: "sampled-tool-without-schema", Does: "offers the model a tool without inputSchema",
			CaughtBy: []string{"sampling.tools.shape"},
			Apply: onSampling(func(p server.Object) {
				if list, ok := p["tools"].([]any); ok {
					delete(list[0].(server.Object), "inputSchema")
				}
			}),
		},
		{
			Name: "tool-choice-always", Does: "wants the model to use tools always",
			CaughtBy: []string{"sampling.tools.choice"},
			Apply: onSampling(func(p server.Object) {
				if choice, ok := p["toolChoice"].(server.Object); ok {
					choice["mode"] = "always"
				}
			}),
		},
		{
			Name: "tool-results-with-remark", Does: "puts a remark beside the results of tools",
			CaughtBy: []string{"sampling.tools.results-alone"},
			Apply: onToolResults(func(message server.Object) {
				message["content"] = append(message["content"].([]any), server.Object{"type": "text", "text": "These are the results."})
			}),
		},
		{
			Name: "tool-results-lost", Does: "answers a use of a tool by a remark",
			CaughtBy: []string{"sampling.tools.balanced"},
			Apply: onToolResults(func(message server.Object) {
				message["content"] = server.Object{"type": "text", "text": "The catalogue is closed."}
			}),
		},
		{
			Name: "tool-result-misses-schema", Does: "gives the model structured results that do not fit the outputSchema",
			CaughtBy: []string{"sampling.tools.structured"},
			Apply: onToolResults(func(message server.Object) {
				message["content"].([]any)[0].(server.Object)["structuredContent"] = server.Object{"books": "none"}
			}),
		},
		{
			Name: "tool-loop-endless", Does: "asks the model again as long as it uses tools",
			CaughtBy: []string{"sampling.tools.limited"},
			Apply:    onLibraryTool("answer_question", func(tool *server.Tool) { tool.Turns = 1 << 20 }),
		},
	}
}

// includeContext asks for it where the client declared it, or where it did not.
func includeContext(declared bool) func(r *server.Request, params server.Object) {
	return func(r *server.Request, params server.Object) {
		s, ok := r.Client.Capabilities["sampling"].(server.Object)
		if _, has := s["context"]; ok && has == declared {
			params["includeContext"] = "thisServer"
		}
	}
}

// onToolResults changes the messages with results of tools in requests for
// sampling.
func onToolResults(edit func(message server.Object)) apply {
	return onSampling(func(p server.Object) {
		for _, m := range p["messages"].([]any) {
			message := m.(server.Object)
			if list, ok := message["content"].([]any); ok && message["role"] == "user" && len(list) > 0 {
				edit(message)
			}
		}
	})
}
