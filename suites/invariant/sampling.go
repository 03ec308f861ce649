package invariant

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// sampling are the judges of client/sampling: of requests of the server, and of
// entries of input_required results alike.
func sampling() []check.Check {
	return slices.Concat(samplingShapes(), []check.Check{
		{
			ID:    "sampling.tools.declared",
			Says:  "tools are offered only to a model of a client that declares sampling.tools",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tools-not-sent-undeclared"},
			Judge: samplingToolsDeclared,
		},
		{
			ID:    "sampling.context.declared",
			Says:  "the context of servers is included only if the client declares sampling.context",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-context-undeclared"},
			Judge: samplingContext(false, "and the client does not declare sampling.context"),
		},
		{
			ID:    "sampling.context.avoided",
			Says:  "includeContext is left out or none",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-context-not-used"},
			Judge: samplingContext(true, "a value that is on its way out"),
		},
		{
			ID:    "sampling.tools.results-alone",
			Says:  "a message with results of tools holds nothing else",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tool-result-only"},
			Judge: toolResultsAlone,
		},
		{
			ID:    "sampling.tools.balanced",
			Says:  "a message that uses tools is followed by one of the user with a result for each use",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tool-use-balanced"},
			Judge: toolUsesBalanced,
		},
		{
			ID:    "sampling.tools.structured",
			Says:  "the structured result of a tool fits the outputSchema that the tool was offered with",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tool-result-output-schema"},
			Judge: sampledToolOutput,
		},
	})
}

const createMessage = "sampling/createMessage"

// samplingShapes split the definition of the request.
func samplingShapes() []check.Check {
	priorities := []string{"modelPreferences.costPriority", "modelPreferences.speedPriority", "modelPreferences.intelligencePriority"}
	return claims([]claim{
		{
			Check: check.Check{
				ID:    "sampling.request.params",
				Says:  "a request for sampling has an array of messages and a number maxTokens",
				In:    spec.Every,
				Rules: []string{"sampling-request-params"},
			},
			method: createMessage,
		},
		{
			Check: check.Check{
				ID:    "sampling.request.message",
				Says:  "each message of a request for sampling is an object",
				In:    spec.Every,
				Rules: []string{"sampling-request-message"},
			},
			method: createMessage, has: []string{"messages.0"},
			places: []string{"/params/messages/*"},
		},
		{
			Check: check.Check{
				ID:    "sampling.request.options",
				Says:  "the optional params of a request for sampling are of their types",
				In:    spec.Every,
				Rules: []string{"sampling-request-optional-types"},
			},
			method: createMessage, has: []string{"systemPrompt", "temperature", "stopSequences", "metadata", "modelPreferences", "tools", "toolChoice"},
			places: []string{"/params/systemPrompt", "/params/temperature", "/params/stopSequences/**", "/params/metadata/**", "/params/modelPreferences", "/params/tools", "/params/toolChoice"},
		},
		{
			Check: check.Check{
				ID:    "sampling.context.known",
				Says:  "includeContext is none, thisServer or allServers",
				In:    spec.Every,
				Rules: []string{"sampling-include-context-enum"},
			},
			method: createMessage, has: []string{"includeContext"},
			places: []string{"/params/includeContext"},
		},
		{
			Check: check.Check{
				ID:    "sampling.preferences.priorities",
				Says:  "the priorities of a model are numbers from 0 to 1",
				In:    spec.Every,
				Rules: []string{"sampling-priorities-range"},
			},
			method: createMessage, has: priorities,
			places: []string{"/params/modelPreferences/costPriority", "/params/modelPreferences/speedPriority", "/params/modelPreferences/intelligencePriority"},
		},
		{
			Check: check.Check{
				ID:    "sampling.preferences.hints",
				Says:  "the hints at a model are objects with a string name, if any",
				In:    spec.Every,
				Rules: []string{"sampling-hints-shape"},
			},
			method: createMessage, has: []string{"modelPreferences.hints"},
			places: []string{"/params/modelPreferences/hints/**"},
		},
		{
			Check: check.Check{
				ID:    "sampling.tools.shape",
				Says:  "each tool that a model is offered has a name and an object inputSchema",
				In:    spec.Since(spec.V2025_11_25),
				Rules: []string{"sampling-tools-shape"},
			},
			method: createMessage, has: []string{"tools.0"},
			places: []string{"/params/tools/*/**"},
		},
		{
			Check: check.Check{
				ID:    "sampling.tools.choice",
				Says:  "the mode of toolChoice is auto, required or none",
				In:    spec.Since(spec.V2025_11_25),
				Rules: []string{"sampling-tool-choice-enum"},
			},
			method: createMessage, has: []string{"toolChoice"},
			places: []string{"/params/toolChoice/mode"},
		},
	}, []string{
		"/params/messages/*/role",       // schema.role
		"/params/messages/*/content/**", // schema.content.*
	})
}

// samplingToolsDeclared leaves a client without sampling to
// lifecycle.capabilities.undeclared and lifecycle.input.declared.
func samplingToolsDeclared(j *check.J) {
	eachAsk(j, createMessage, func(a ask) {
		offered := a.params().v.Get("tools").Exists() || a.params().v.Get("toolChoice").Exists()
		switch declared := a.client(j).Get("sampling"); {
		case !declared.Exists():
		case offered && !declared.Get("tools").Exists():
			j.Fail(a.Entry, "%s offers tools, and the client does not declare sampling.tools", a.name)
		default:
			j.Saw()
		}
	})
}

// samplingContext objects to the values that include context, where the client
// declares or does not declare that it does that.
func samplingContext(declared bool, why string) func(*check.J) {
	return func(j *check.J) {
		eachAsk(j, createMessage, func(a ask) {
			capability := a.client(j).Get("sampling")
			if !capability.Exists() || capability.Get("context").Exists() != declared {
				return
			}
			switch v := a.params().v.Get("includeContext").String(); v {
			case "thisServer", "allServers":
				j.Fail(a.Entry, "%s: includeContext is %q, %s", a.name, v, why)
			default:
				j.Saw()
			}
		})
	}
}

// contents returns the content blocks of a sampling message: one, or an array.
func contents(message part) []part {
	if one := message.member("content"); !one.v.IsArray() {
		return []part{one}
	}
	return message.member("content").items()
}

// blocksOf returns the blocks of a type among them.
func blocksOf(blocks []part, kind string) []part {
	return those(blocks, func(p part) bool { return p.v.Get("type").String() == kind })
}

func toolResultsAlone(j *check.J) {
	eachAsk(j, createMessage, func(a ask) {
		for _, message := range a.params().member("messages").items() {
			blocks := contents(message)
			switch results := blocksOf(blocks, "tool_result"); {
			case len(results) == 0:
			case len(results) < len(blocks):
				j.Fail(a.Entry, "%s: %s/content holds %d results of tools among %d blocks", a.name, message.at, len(results), len(blocks))
			default:
				j.Saw()
			}
		}
	})
}

func toolUsesBalanced(j *check.J) {
	eachAsk(j, createMessage, func(a ask) {
		messages := a.params().member("messages").items()
		for i, message := range messages {
			uses := blocksOf(contents(message), "tool_use")
			if len(uses) == 0 || message.v.Get("role").String() != "assistant" {
				continue
			}
			answered := map[string]bool{}
			if i+1 < len(messages) && messages[i+1].v.Get("role").String() == "user" {
				for _, r := range blocksOf(contents(messages[i+1]), "tool_result") {
					answered[r.v.Get("toolUseId").String()] = true
				}
			}
			for _, use := range uses {
				if id := use.v.Get("id").String(); !answered[id] {
					j.Fail(a.Entry, "%s: %s uses a tool under the id %q, and the next message holds no result for it", a.name, use.at, wire.Clip(id, 80))
					return
				}
			}
			j.Saw()
		}
	})
}

// sampledToolOutput finds the tool of a result by the use that the result
// names. What cannot be judged of a schema is left alone.
func sampledToolOutput(j *check.J) {
	eachAsk(j, createMessage, func(a ask) {
		output := map[string]gjson.Result{} // schema by name of the tool
		for _, tool := range a.params().member("tools").items() {
			output[tool.v.Get("name").String()] = tool.v.Get("outputSchema")
		}
		used := map[string]string{} // name of the tool by id of its use
		for _, message := range a.params().member("messages").items() {
			for _, b := range contents(message) {
				switch b.v.Get("type").String() {
				case "tool_use":
					used[b.v.Get("id").String()] = b.v.Get("name").String()
				case "tool_result":
					name := used[b.v.Get("toolUseId").String()]
					value := b.v.Get("structuredContent")
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
						j.Fail(a.Entry, "%s: %s/structuredContent does not fit the outputSchema of %q: %s", a.name, b.at, wire.Clip(name, 80), broken[0])
					default:
						j.Saw()
					}
				}
			}
		}
	})
}
