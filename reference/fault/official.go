package fault

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// officialFaults are the faults of the public conformance contract. They break no row
// of the ledger: the contract documents what they break.
func officialFaults() []Fault {
	faults := slices.Concat(officialTools(), officialSchemas(), officialLogs(), officialProgress(), officialRequests(),
		officialSampling(), officialElicitation(), officialChoices(),
		officialOffers(), officialPrompts(), officialStateless(), officialRounds(), officialResponses(),
		officialTasks(),
		officialSkills())
	for i := range faults {
		faults[i].Profile = "official"
	}
	return faults
}

var (
	contractSessions = spec.Between(spec.V2025_06_18, spec.V2025_11_25)
	// oneRevision is for the further faults of a check that another fault proves in
	// each revision.
	oneRevision = spec.Stateless
)

// documented is the check of what the contract documents in words.
var documented = []string{"official.documented"}

// A small PNG, and bytes that are none, in Base64.
const (
	pngBase64   = "iVBORw0KGgo="
	helloBase64 = "SGVsbG8="
)

// onBlock changes a content block of a complete result of a tool.
func onBlock(tool string, at int, edit func(block server.Object)) apply {
	return onCall(tool, func(o server.Object) {
		if content, ok := o["content"].([]any); ok && at < len(content) {
			edit(content[at].(server.Object))
		}
	})
}

// onText replaces the text that a tool returns.
func onText(tool, text string) apply { return onBlock(tool, 0, set("text", text)) }

// embedded changes the resource in a block.
func embedded(edit func(resource server.Object)) func(server.Object) {
	return func(block server.Object) { edit(block["resource"].(server.Object)) }
}

// withoutTool takes a tool out of the library.
func withoutTool(tool string) apply {
	return onLibrary(func(l *server.Features) {
		l.Tools = slices.DeleteFunc(l.Tools, func(t *server.Tool) bool { return t.Name == tool })
	})
}

// officialTools are faults in the results of tools.
func officialTools() []Fault {
	return []Fault{
		{
			Name: "contract-tool-missing", Does: "does not offer test_simple_text",
			CaughtBy: []string{"official.tools.simple-text"},
			Apply:    withoutTool("test_simple_text"),
		},
		{
			Name: "contract-simple-text-reworded", Does: "returns another sentence in test_simple_text",
			CaughtBy: documented,
			Apply:    onText("test_simple_text", "This is a simple text response."),
		},
		{
			Name: "contract-image-as-jpeg", Does: "returns the image of test_image_content as image/jpeg",
			In:       oneRevision,
			CaughtBy: documented,
			Apply:    onBlock("test_image_content", 0, set("mimeType", "image/jpeg")),
		},
		{
			Name: "contract-image-no-picture", Does: "returns a text as the PNG of test_image_content",
			CaughtBy: []string{"official.tools.image"},
			Apply:    onBlock("test_image_content", 0, set("data", helloBase64)),
		},
		{
			Name: "contract-audio-as-mp3", Does: "returns the audio of test_audio_content as audio/mpeg",
			CaughtBy: []string{"official.tools.audio"},
			Apply:    onBlock("test_audio_content", 0, set("mimeType", "audio/mpeg")),
		},
		{
			Name: "contract-audio-no-sound", Does: "returns an image as the audio of test_audio_content",
			In:       oneRevision,
			CaughtBy: []string{"official.tools.audio"},
			Apply:    onBlock("test_audio_content", 0, set("data", pngBase64)),
		},
		{
			Name: "contract-embedded-uri", Does: "embeds a resource of another URI in test_embedded_resource",
			In:       oneRevision,
			CaughtBy: documented,
			Apply:    onBlock("test_embedded_resource", 0, embedded(set("uri", "test://static-text"))),
		},
		{
			Name: "contract-embedded-empty", Does: "embeds an empty resource in test_embedded_resource",
			CaughtBy: []string{"official.tools.embedded-resource"},
			Apply:    onBlock("test_embedded_resource", 0, embedded(set("text", ""))),
		},
		{
			Name: "contract-mixed-without-picture", Does: "leaves the image out of test_multiple_content_types",
			CaughtBy: []string{"official.tools.mixed-content"},
			Apply: onCall("test_multiple_content_types", func(o server.Object) {
				content := o["content"].([]any)
				o["content"] = []any{content[0], content[2]}
			}),
		},
		{
			Name: "contract-mixed-json", Does: "writes the number of test_multiple_content_types as a string",
			In:       oneRevision,
			CaughtBy: documented,
			Apply:    onBlock("test_multiple_content_types", 2, embedded(set("text", `{"test":"data","value":"123"}`))),
		},
		{
			Name: "contract-error-as-success", Does: "leaves isError out of test_error_handling",
			CaughtBy: []string{"official.tools.error"},
			Also: map[string]string{
				"tools.result.failure": "the tool that is known to fail does not report a failure",
			},
			Apply: onCall("test_error_handling", remove("isError")),
		},
		{
			Name: "contract-error-unexplained", Does: "does not explain the failure of test_error_handling",
			In:       oneRevision,
			CaughtBy: documented,
			Apply:    onText("test_error_handling", "Error"),
		},
	}
}

// officialSchemas are faults in the schema of a tool.
func officialSchemas() []Fault {
	onSchema := func(edit func(schema server.Object)) apply {
		return onTool("json_schema_2020_12_tool", func(tool server.Object) {
			edit(tool["inputSchema"].(server.Object))
		})
	}
	return []Fault{
		{
			Name:     "contract-schema-without-defs",
			Does:     "leaves $defs, and the references to it, out of the schema of json_schema_2020_12_tool",
			CaughtBy: []string{"official.tools.json-schema"},
			Also: map[string]string{
				"official.tools.json-schema.composition": "the $anchor stands in $defs (2026-07-28)",
			},
			Apply: onSchema(func(schema server.Object) {
				delete(schema, "$defs")
				schema["properties"].(server.Object)["address"] = server.Object{"type": "object"}
			}),
		},
		{
			Name:     "contract-schema-open",
			Does:     "leaves additionalProperties out of the schema of json_schema_2020_12_tool",
			CaughtBy: []string{"official.tools.json-schema"},
			Apply:    onSchema(remove("additionalProperties")),
		},
		{
			Name:     "contract-schema-unconditional",
			Does:     "leaves if, then and else out of the schema of json_schema_2020_12_tool",
			CaughtBy: []string{"official.tools.json-schema.composition"},
			Apply:    onSchema(remove("if", "then", "else")),
		},
	}
}
