package sampling

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of client/sampling: of requests of the server, and of
// entries of input_required results alike.
func judges() []check.Check {
	return slices.Concat(samplingShapes(), []check.Check{
		{
			ID:    "sampling.tools.declared",
			Says:  "tools are offered only to a model of a client that declares sampling.tools",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tools-not-sent-undeclared"},
			// samplingToolsDeclared leaves a client without sampling to
			// lifecycle.capabilities.undeclared and lifecycle.input.declared.
			Judge: func(j *check.J) {
				transcript.EachInputRequest(j, createMessage, func(a transcript.InputRequest) {
					offered := a.Params().Value.Get("tools").Exists() || a.Params().Value.Get("toolChoice").Exists()
					switch declared := a.Client(j).Get("sampling"); {
					case !declared.Exists():
					case offered && !declared.Get("tools").Exists():
						j.Fail(a.Entry, "%s offers tools, and the client does not declare sampling.tools", a.Name)
					default:
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "sampling.context.declared",
			Says:  "the context of servers is included only if the client declares sampling.context",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-context-undeclared"},
			Judge: func(j *check.J) { samplingContext(j, false, "and the client does not declare sampling.context") },
		},
		{
			ID:    "sampling.context.avoided",
			Says:  "includeContext is left out or none",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-context-not-used"},
			Judge: func(j *check.J) { samplingContext(j, true, "a value that is on its way out") },
		},
		{
			ID:    "sampling.tools.results-alone",
			Says:  "a message with results of tools holds nothing else",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tool-result-only"},
			Judge: func(j *check.J) {
				transcript.EachInputRequest(j, createMessage, func(a transcript.InputRequest) {
					for _, message := range a.Params().Member("messages").Items() {
						blocks := contents(message)
						switch results := blocksOf(blocks, "tool_result"); {
						case len(results) == 0:
						case len(results) < len(blocks):
							j.Fail(a.Entry, "%s: %s/content holds %d results of tools among %d blocks", a.Name, message.Pointer, len(results), len(blocks))
						default:
							j.Saw()
						}
					}
				})
			},
		},
		{
			ID:    "sampling.tools.balanced",
			Says:  "a message that uses tools is followed by one of the user with a result for each use",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tool-use-balanced"},
			Judge: func(j *check.J) {
				transcript.EachInputRequest(j, createMessage, func(a transcript.InputRequest) {
					messages := a.Params().Member("messages").Items()
					for i, message := range messages {
						uses := blocksOf(contents(message), "tool_use")
						if len(uses) == 0 || message.Value.Get("role").String() != "assistant" {
							continue
						}
						answered := map[string]bool{}
						if i+1 < len(messages) && messages[i+1].Value.Get("role").String() == "user" {
							for _, r := range blocksOf(contents(messages[i+1]), "tool_result") {
								answered[r.Value.Get("toolUseId").String()] = true
							}
						}
						for _, use := range uses {
							if id := use.Value.Get("id").String(); !answered[id] {
								j.Fail(a.Entry, "%s: %s uses a tool under the id %q, and the next message holds no result for it", a.Name, use.Pointer, wire.Clip(id, 80))
								return
							}
						}
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "sampling.tools.structured",
			Says:  "the structured result of a tool fits the outputSchema that the tool was offered with",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tool-result-output-schema"},
			// sampledToolOutput finds the tool of a result by the use that the result
			// names. What cannot be judged of a schema is left alone.
			Judge: func(j *check.J) {
				transcript.EachInputRequest(j, createMessage, func(a transcript.InputRequest) {
					output := map[string]gjson.Result{} // schema by name of the tool
					for _, tool := range a.Params().Member("tools").Items() {
						output[tool.Value.Get("name").String()] = tool.Value.Get("outputSchema")
					}
					used := map[string]string{} // name of the tool by id of its use
					for _, message := range a.Params().Member("messages").Items() {
						for _, b := range contents(message) {
							switch b.Value.Get("type").String() {
							case "tool_use":
								used[b.Value.Get("id").String()] = b.Value.Get("name").String()
							case "tool_result":
								name := used[b.Value.Get("toolUseId").String()]
								value := b.Value.Get("structuredContent")
								if !output[name].IsObject() || !value.Exists() {
									continue
								}
								compiled, err := schema.CompileTool([]byte(output[name].Raw))
								if err != nil {
									continue
								}
								switch broken, err := compiled.Validate([]byte(value.Raw)); {
								case err != nil:
								case len(broken) > 0:
									j.Fail(a.Entry, "%s: %s/structuredContent does not fit the outputSchema of %q: %s", a.Name, b.Pointer, wire.Clip(name, 80), broken[0])
								default:
									j.Saw()
								}
							}
						}
					}
				})
			},
		},
	})
}

const createMessage = "sampling/createMessage"

// samplingShapes split the definition of the request.
func samplingShapes() []check.Check {
	priorities := []string{"modelPreferences.costPriority", "modelPreferences.speedPriority", "modelPreferences.intelligencePriority"}
	return transcript.ShapeChecks([]transcript.ShapeCheck{
		{
			Check: check.Check{
				ID:    "sampling.request.params",
				Says:  "a request for sampling has an array of messages and a number maxTokens",
				In:    spec.Every,
				Rules: []string{"sampling-request-params"},
			},
			Method: createMessage,
		},
		{
			Check: check.Check{
				ID:    "sampling.request.message",
				Says:  "each message of a request for sampling is an object",
				In:    spec.Every,
				Rules: []string{"sampling-request-message"},
			},
			Method: createMessage, Has: []string{"messages.0"},
			Places: []string{"/params/messages/*"},
		},
		{
			Check: check.Check{
				ID:    "sampling.request.options",
				Says:  "the optional params of a request for sampling are of their types",
				In:    spec.Every,
				Rules: []string{"sampling-request-optional-types"},
			},
			Method: createMessage, Has: []string{"systemPrompt", "temperature", "stopSequences", "metadata", "modelPreferences", "tools", "toolChoice"},
			Places: []string{"/params/systemPrompt", "/params/temperature", "/params/stopSequences/**", "/params/metadata/**", "/params/modelPreferences", "/params/tools", "/params/toolChoice"},
		},
		{
			Check: check.Check{
				ID:    "sampling.context.known",
				Says:  "includeContext is none, thisServer or allServers",
				In:    spec.Every,
				Rules: []string{"sampling-include-context-enum"},
			},
			Method: createMessage, Has: []string{"includeContext"},
			Places: []string{"/params/includeContext"},
		},
		{
			Check: check.Check{
				ID:    "sampling.preferences.priorities",
				Says:  "the priorities of a model are numbers from 0 to 1",
				In:    spec.Every,
				Rules: []string{"sampling-priorities-range"},
			},
			Method: createMessage, Has: priorities,
			Places: []string{"/params/modelPreferences/costPriority", "/params/modelPreferences/speedPriority", "/params/modelPreferences/intelligencePriority"},
		},
		{
			Check: check.Check{
				ID:    "sampling.preferences.hints",
				Says:  "the hints at a model are objects with a string name, if any",
				In:    spec.Every,
				Rules: []string{"sampling-hints-shape"},
			},
			Method: createMessage, Has: []string{"modelPreferences.hints"},
			Places: []string{"/params/modelPreferences/hints/**"},
		},
		{
			Check: check.Check{
				ID:    "sampling.tools.shape",
				Says:  "each tool that a model is offered has a name and an object inputSchema",
				In:    spec.Since(spec.V2025_11_25),
				Rules: []string{"sampling-tools-shape"},
			},
			Method: createMessage, Has: []string{"tools.0"},
			Places: []string{"/params/tools/*/**"},
		},
		{
			Check: check.Check{
				ID:    "sampling.tools.choice",
				Says:  "the mode of toolChoice is auto, required or none",
				In:    spec.Since(spec.V2025_11_25),
				Rules: []string{"sampling-tool-choice-enum"},
			},
			Method: createMessage, Has: []string{"toolChoice"},
			Places: []string{"/params/toolChoice/mode"},
		},
	}, []string{
		"/params/messages/*/role",       // schema.role
		"/params/messages/*/content/**", // schema.content.*
	})
}

// samplingContext objects to the values that include context, where the client
// declares or does not declare that it does that.
func samplingContext(j *check.J, declared bool, why string) {
	transcript.EachInputRequest(j, createMessage, func(a transcript.InputRequest) {
		capability := a.Client(j).Get("sampling")
		if !capability.Exists() || capability.Get("context").Exists() != declared {
			return
		}
		switch v := a.Params().Value.Get("includeContext").String(); v {
		case "thisServer", "allServers":
			j.Fail(a.Entry, "%s: includeContext is %q, %s", a.Name, v, why)
		default:
			j.Saw()
		}
	})
}

// contents returns the content blocks of a sampling message: one, or an array.
func contents(message transcript.Part) []transcript.Part {
	if one := message.Member("content"); !one.Value.IsArray() {
		return []transcript.Part{one}
	}
	return message.Member("content").Items()
}

// blocksOf returns the blocks of a type among them.
func blocksOf(blocks []transcript.Part, kind string) []transcript.Part {
	return transcript.Filter(blocks, func(p transcript.Part) bool { return p.Value.Get("type").String() == kind })
}
