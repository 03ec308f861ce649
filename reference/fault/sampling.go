package fault

import (
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// samplingFaults are the faults of client/sampling.
func samplingFaults() []Fault { return append(samplingRequests(), samplingTools()...) }

// onPreferences changes the modelPreferences of requests for sampling.
func onPreferences(edit func(preferences server.Object)) apply {
	return onSampling(func(p server.Object) {
		if preferences, ok := p["modelPreferences"].(server.Object); ok {
			edit(preferences)
		}
	})
}

// samplingRequests are faults in requests for sampling, and in what the server does
// with their results.
func samplingRequests() []Fault {
	return []Fault{
		{
			Name: "sampling-without-max-tokens", Does: "requests sampling without maxTokens",
			CaughtBy: []string{"sampling.request.params"},
			Apply:    onSampling(remove("maxTokens")),
		},
		{
			Name: "sampling-message-string", Does: "writes a message for sampling as a string",
			CaughtBy: []string{"sampling.request.message"},
			Apply:    onSampling(func(p server.Object) { p["messages"].([]any)[0] = "Name one book." }),
		},
		{
			Name: "sampling-stop-string", Does: "writes stopSequences as a string",
			CaughtBy: []string{"sampling.request.options"},
			Apply:    onSampling(set("stopSequences", "END")),
		},
		{
			Name: "sampling-temperature-word", Does: "writes the temperature as a string",
			CaughtBy: []string{"sampling.request.options"},
			Apply:    onSampling(set("temperature", "cool")),
		},
		{
			Name: "sampling-context-everything", Does: "requests the unknown includeContext everything",
			CaughtBy: []string{"sampling.context.known"},
			Apply:    onSampling(set("includeContext", "everything")),
		},
		{
			Name: "sampling-priority-in-percent", Does: "writes the priorities of a model in percent",
			CaughtBy: []string{"sampling.preferences.priorities"},
			Apply:    onPreferences(set("speedPriority", 80)),
		},
		{
			Name: "sampling-hint-strings", Does: "writes the hints at a model as strings",
			CaughtBy: []string{"sampling.preferences.hints"},
			Apply:    onPreferences(set("hints", []any{"small"})),
		},
		{
			Name: "sampling-result-unchecked", Does: "takes content of any type for text",
			CaughtBy: []string{"sampling.result.validated"},
			Apply: onClientAnswer(func(answer server.Object) {
				if block, ok := answer["content"].(server.Object); ok && answer["role"] != nil {
					block["type"] = "text"
				}
			}),
		},
		{
			Name:     "waits-for-refused-sample",
			Does:     "does not answer a call where the client refuses sampling/createMessage",
			CaughtBy: []string{"sampling.answers.survived"},
			Apply:    ignoreRefusals("sampling/createMessage"),
		},
		{
			Name:     "context-without-capability",
			Does:     "requests the context of servers where the client does not declare sampling.context",
			CaughtBy: []string{"sampling.context.declared"},
			Apply:    requestContext(false),
		},
		{
			Name:     "context-included",
			Does:     "requests the context of servers where the client declares sampling.context",
			CaughtBy: []string{"sampling.context.avoided"},
			Apply:    requestContext(true),
		},
	}
}

// requestContext requests the context of the server where the client declares
// sampling.context, or where it does not.
func requestContext(declared bool) apply {
	return onInput("sampling/createMessage", func(r *server.Request, params server.Object) {
		s, ok := r.Client.Capabilities["sampling"].(server.Object)
		if _, has := s["context"]; ok && has == declared {
			params["includeContext"] = "thisServer"
		}
	})
}

// samplingTools are faults of sampling with tools.
func samplingTools() []Fault {
	return []Fault{
		{
			Name: "sampling-tools-undeclared", Does: "sends tools to a client that does not declare sampling.tools",
			CaughtBy: []string{"sampling.tools.declared"},
			Apply:    onClientCapability("sampling", set("tools", server.Object{})),
		},
		{
			Name: "sampled-tool-without-schema", Does: "sends a tool without inputSchema",
			CaughtBy: []string{"sampling.tools.shape"},
			Apply: onSampling(func(p server.Object) {
				if list, ok := p["tools"].([]any); ok {
					delete(list[0].(server.Object), "inputSchema")
				}
			}),
		},
		{
			Name: "tool-choice-always", Does: "requests the unknown toolChoice always",
			CaughtBy: []string{"sampling.tools.choice"},
			Apply: onSampling(func(p server.Object) {
				if choice, ok := p["toolChoice"].(server.Object); ok {
					choice["mode"] = "always"
				}
			}),
		},
		{
			Name: "tool-results-with-remark", Does: "puts a text beside the results of tools",
			CaughtBy: []string{"sampling.tools.results-alone"},
			Apply: onToolResults(func(message server.Object) {
				text := server.Object{"type": "text", "text": "These are the results."}
				message["content"] = append(message["content"].([]any), text)
			}),
		},
		{
			Name: "tool-results-lost", Does: "answers a use of a tool with a text",
			CaughtBy: []string{"sampling.tools.balanced"},
			Apply:    onToolResults(set("content", server.Object{"type": "text", "text": "The catalogue is closed."})),
		},
		{
			Name: "tool-result-misses-schema", Does: "sends structured results that the outputSchema does not allow",
			CaughtBy: []string{"sampling.tools.structured"},
			Apply: onToolResults(func(message server.Object) {
				message["content"].([]any)[0].(server.Object)["structuredContent"] = server.Object{"books": "none"}
			}),
		},
		{
			Name: "tool-loop-endless", Does: "requests sampling as long as the model uses tools",
			CaughtBy: []string{"sampling.tools.limited"},
			Apply:    onLibraryTool("answer_question", func(tool *server.Tool) { tool.MaxTurns = 1 << 20 }),
		},
	}
}

// onToolResults changes the messages with results of tools in requests for sampling.
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
