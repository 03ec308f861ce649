package fault

import (
	"context"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// official are the faults of the public conformance contract. They break no
// row of the ledger: what they break is documented by the contract.
func official() []Fault {
	faults := slices.Concat(officialTools(), officialNotices(), officialForms(), officialOffers(), officialStateless(), officialRounds(), officialTasks(), officialSkills())
	for i := range faults {
		faults[i].Profile = "official"
	}
	return faults
}

// The revisions of the contract.
var (
	inContract = spec.Since(spec.V2025_06_18)
	inSessions = spec.Between(spec.V2025_06_18, spec.V2025_11_25)
	in2025_11  = spec.Only(spec.V2025_11_25)
	// further is one revision, for the further faults of a check that another
	// fault proves in each.
	further = spec.Stateless
)

// onBlock changes a content block of a complete result of a tool.
func onBlock(tool string, at int, edit func(block server.Object)) apply {
	return onCall(tool, func(o server.Object) {
		if content, ok := o["content"].([]any); ok && at < len(content) {
			edit(content[at].(server.Object))
		}
	})
}

// insteadSaying replaces the text that a tool says.
func insteadSaying(tool, text string) apply {
	return onBlock(tool, 0, func(block server.Object) { block["text"] = text })
}

// set gives a member another value.
func set(member string, value any) func(server.Object) {
	return func(o server.Object) { o[member] = value }
}

// embedded changes the resource in a block.
func embedded(edit func(resource server.Object)) func(server.Object) {
	return func(block server.Object) { edit(block["resource"].(server.Object)) }
}

// onAsks changes what a tool asks the client for.
func onAsks(tool string, edit func(call *server.Call, asks []server.Ask) []server.Ask) apply {
	return onLibraryTool(tool, func(t *server.Tool) {
		asks := t.Asks
		t.Asks = func(call *server.Call) []server.Ask { return edit(call, slices.Clone(asks(call))) }
	})
}

// onAskParams changes the params of the first ask of a tool of the contract
// that makes them anew for each call.
func onAskParams(tool string, edit func(params server.Object)) apply {
	return onAsks(tool, func(_ *server.Call, asks []server.Ask) []server.Ask {
		edit(asks[0].Params)
		return asks
	})
}

// onFormField changes a field of the form of a tool.
func onFormField(tool, field string, edit func(schema server.Object)) apply {
	return onAskParams(tool, func(params server.Object) {
		edit(params["requestedSchema"].(server.Object)["properties"].(server.Object)[field].(server.Object))
	})
}

// onInterimOf changes the input_required results of a method for what has the
// name.
func onInterimOf(method, name string, edit func(r *server.Request, result server.Object)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if o, ok := v.(server.Object); ok && r.Method == method && r.Params["name"] == name && o["resultType"] == "input_required" {
				edit(r, o)
			}
			return v, problem
		}
	})
}

// unlisted takes a tool out of the library.
func unlisted(tool string) apply {
	return func(o *server.Options) {
		o.Library = func(l *server.Library) {
			l.Tools = slices.DeleteFunc(l.Tools, func(t *server.Tool) bool { return t.Name == tool })
		}
	}
}

func officialTools() []Fault {
	png := "iVBORw0KGgo="
	return []Fault{
		{
			Name: "contract-tool-missing", Does: "does not offer test_simple_text",
			CaughtBy: []string{"official.tools.simple-text"},
			Apply:    unlisted("test_simple_text"),
		},
		{
			Name: "contract-simple-text-reworded", Does: "says another sentence in test_simple_text",
			CaughtBy: []string{"official.documented"},
			Apply:    insteadSaying("test_simple_text", "This is a simple text response."),
		},
		{
			Name: "contract-image-as-jpeg", Does: "calls the picture of test_image_content a JPEG", In: further,
			CaughtBy: []string{"official.documented"},
			Apply:    onBlock("test_image_content", 0, set("mimeType", "image/jpeg")),
		},
		{
			Name: "contract-image-no-picture", Does: "shows a text as the PNG of test_image_content",
			CaughtBy: []string{"official.tools.image"},
			Apply:    onBlock("test_image_content", 0, set("data", "SGVsbG8=")),
		},
		{
			Name: "contract-audio-as-mp3", Does: "calls the sound of test_audio_content an MP3",
			CaughtBy: []string{"official.tools.audio"},
			Apply:    onBlock("test_audio_content", 0, set("mimeType", "audio/mpeg")),
		},
		{
			Name: "contract-audio-no-sound", Does: "plays a picture in test_audio_content", In: further,
			CaughtBy: []string{"official.tools.audio"},
			Apply:    onBlock("test_audio_content", 0, set("data", png)),
		},
		{
			Name: "contract-embedded-uri", Does: "embeds a resource of another URI in test_embedded_resource", In: further,
			CaughtBy: []string{"official.documented"},
			Apply:    onBlock("test_embedded_resource", 0, embedded(set("uri", "test://static-text"))),
		},
		{
			Name: "contract-embedded-empty", Does: "embeds an empty resource in test_embedded_resource",
			CaughtBy: []string{"official.tools.embedded-resource"},
			Apply:    onBlock("test_embedded_resource", 0, embedded(set("text", ""))),
		},
		{
			Name: "contract-mixed-without-picture", Does: "leaves the picture out of test_multiple_content_types",
			CaughtBy: []string{"official.tools.mixed-content"},
			Apply: onCall("test_multiple_content_types", func(o server.Object) {
				content := o["content"].([]any)
				o["content"] = []any{content[0], content[2]}
			}),
		},
		{
			Name: "contract-mixed-json", Does: "writes the number of test_multiple_content_types as a string", In: further,
			CaughtBy: []string{"official.documented"},
			Apply:    onBlock("test_multiple_content_types", 2, embedded(set("text", `{"test":"data","value":"123"}`))),
		},
		{
			Name: "contract-error-as-success", Does: "answers test_error_handling without isError",
			CaughtBy: []string{"official.tools.error"},
			Also:     map[string]string{"tools.result.failure": "the tool whose failure is known by name does not say that it failed"},
			Apply:    onCall("test_error_handling", func(o server.Object) { delete(o, "isError") }),
		},
		{
			Name: "contract-error-unexplained", Does: "says nothing of the failure in test_error_handling", In: further,
			CaughtBy: []string{"official.documented"},
			Apply:    insteadSaying("test_error_handling", "Error"),
		},
		{
			Name: "contract-schema-without-defs", Does: "strips $defs from the schema of json_schema_2020_12_tool, and what refers to them",
			CaughtBy: []string{"official.tools.json-schema"},
			Also:     map[string]string{"official.tools.json-schema.composition": "the $anchor stands in $defs (2026-07-28)"},
			Apply: onTool("json_schema_2020_12_tool", func(tool server.Object) {
				input := tool["inputSchema"].(server.Object)
				delete(input, "$defs")
				input["properties"].(server.Object)["address"] = server.Object{"type": "object"}
			}),
		},
		{
			Name: "contract-schema-open", Does: "strips additionalProperties from the schema of json_schema_2020_12_tool",
			CaughtBy: []string{"official.tools.json-schema"},
			Apply: onTool("json_schema_2020_12_tool", func(tool server.Object) {
				delete(tool["inputSchema"].(server.Object), "additionalProperties")
			}),
		},
		{
			Name: "contract-schema-unconditional", Does: "strips if, then and else from the schema of json_schema_2020_12_tool",
			CaughtBy: []string{"official.tools.json-schema.composition"},
			Apply: onTool("json_schema_2020_12_tool", func(tool server.Object) {
				for _, member := range []string{"if", "then", "else"} {
					delete(tool["inputSchema"].(server.Object), member)
				}
			}),
		},
	}
}
