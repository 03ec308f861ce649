package official

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// contentProbes returns the probes of the tools with each kind of content.
func contentProbes() []check.Check {
	return []check.Check{
		{
			ID:    "official.tools.simple-text",
			Says:  "test_simple_text, called without arguments, returns a text that is not empty",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-simple-text",
			Idle:  noCall,
			Probe: func(t *check.T) {
				verifySimpleText(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.tools.image",
			Says:  "test_image_content returns a PNG image",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-image",
			Idle:  noCall,
			Probe: func(t *check.T) {
				verifyImage(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.tools.audio",
			Says:  "test_audio_content returns a WAV sound",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-audio",
			Idle:  noCall,
			Probe: func(t *check.T) {
				const tool = "test_audio_content"
				content := callTool(t, tool, check.Params{}).Get("content")
				mustHaveTypes(t, tool, content, "audio")
				contract.MustBeString(t, "the mimeType of "+tool, content.Get("0.mimeType"), "audio/wav")
				contract.MustEncodeFile(t, tool, content.Get("0"), "data", "audio/wav", contract.IsWAV)
				t.Saw()
			},
		},
		{
			ID:    "official.tools.embedded-resource",
			Says:  "test_embedded_resource returns its resource",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-embedded-resource",
			Idle:  noCall,
			Probe: func(t *check.T) {
				verifyEmbedded(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.tools.mixed-content",
			Says:  "test_multiple_content_types returns a text, an image and a resource",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-mixed-content",
			Idle:  noCall,
			Probe: func(t *check.T) {
				verifyMixed(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.tools.error",
			Says:  "test_error_handling returns a result with isError and a text",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-error",
			Idle:  noCall,
			Probe: func(t *check.T) {
				verifyError(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.tools.json-schema",
			Says:  "the inputSchema of json_schema_2020_12_tool has $schema, $defs and additionalProperties false",
			Level: spec.Must,
			In:    since2025_11,
			Spec:  "json-schema-2020-12",
			Idle:  noSchemaTool,
			// The contract has the $anchor since 2026-07-28: the next check judges it.
			Probe: func(t *check.T) {
				input := listedItem(t, offer.ToolsList, "tool", schemaTool).Get("inputSchema")
				contract.MustBeString(t, "$schema of the inputSchema", input.Get("$schema"),
					"https://json-schema.org/draft/2020-12/schema")
				mustBe(t, "the type of $defs.address", input.Get("$defs.address.type"), `"object"`)
				mustBe(t, "the properties of $defs.address", input.Get("$defs.address.properties"),
					`{"street":{"type":"string"},"city":{"type":"string"}}`)
				mustBe(t, "the reference to $defs.address", input.Get("properties.address"),
					`{"$ref":"#/$defs/address"}`)
				mustBe(t, "additionalProperties of the inputSchema", input.Get("additionalProperties"), "false")
				t.Saw()
			},
		},
		{
			ID:    "official.tools.json-schema.composition",
			Says:  "the inputSchema of json_schema_2020_12_tool has allOf, anyOf, if, then, else and $anchor",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "json-schema-2020-12",
			Idle:  noSchemaTool,
			Probe: func(t *check.T) {
				input := listedItem(t, offer.ToolsList, "tool", schemaTool).Get("inputSchema")
				mustBe(t, "$anchor of $defs.address", input.Get("$defs.address.$anchor"), `"addressDef"`)
				for _, c := range [][2]string{
					{"allOf", `[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}]`},
					{"if", `{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]}`},
					{"then", `{"required":["phone"]}`},
					{"else", `{"required":["email"]}`},
				} {
					mustBe(t, c[0]+" of the inputSchema", input.Get(c[0]), c[1])
				}
				t.Saw()
			},
		},
	}
}

// verifySimpleText asserts that the tool returns a text.
func verifySimpleText(t *check.T, diff *differences) {
	const tool = "test_simple_text"
	content := callTool(t, tool, nil).Get("content")
	mustHaveTypes(t, tool, content, "text")
	contract.MustBeNonEmpty(t, "the text of "+tool, content.Get("0.text"))
	diff.compareText(t, "the text of "+tool, content.Get("0.text"), "This is a simple text response for testing.")
}

// verifyImage asserts that the tool returns an image.
func verifyImage(t *check.T, diff *differences) {
	const tool = "test_image_content"
	content := callTool(t, tool, check.Params{}).Get("content")
	mustHaveTypes(t, tool, content, "image")
	contract.MustEncodeFile(t, tool, content.Get("0"), "data", "image/png", contract.IsPNG)
	diff.compareText(t, "the mimeType of "+tool, content.Get("0.mimeType"), "image/png")
}

// verifyEmbedded asserts that the tool returns a resource.
func verifyEmbedded(t *check.T, diff *differences) {
	const tool = "test_embedded_resource"
	content := callTool(t, tool, check.Params{}).Get("content")
	mustHaveTypes(t, tool, content, "resource")
	mustBeContents(t, diff, "the resource in "+tool, content.Get("0.resource"), "test://embedded-resource",
		"text/plain",
		"This is an embedded resource content.")
}

// verifyMixed asserts that the tool returns a text, an image and a resource.
func verifyMixed(t *check.T, diff *differences) {
	const tool = "test_multiple_content_types"
	content := callTool(t, tool, check.Params{}).Get("content")
	mustHaveTypes(t, tool, content, "text", "image", "resource")
	contract.MustEncodeFile(t, "the image of "+tool, content.Get("1"), "data", "image/png", contract.IsPNG)
	diff.compareText(t, "the text of "+tool, content.Get("0.text"), "Multiple content types test:")
	diff.compareText(t, "the mimeType of the image of "+tool, content.Get("1.mimeType"), "image/png")
	mustBeContents(t, diff, "the resource in "+tool, content.Get("2.resource"),
		"test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)
}

// verifyError asserts that the tool returns an error with a text, to which SDKs add words
// of their own.
func verifyError(t *check.T, diff *differences) {
	const tool = "test_error_handling"
	r := mustBeResult(t, "the call of "+tool, t.Request("tools/call", callParams(t, tool, check.Params{})))
	mustBe(t, "isError in the result of "+tool, r.Get("isError"), "true")
	mustHaveTypes(t, tool, r.Get("content"), "text")
	contract.MustBeNonEmpty(t, "the text of "+tool, r.Get("content.0.text"))
	diff.compareParts(t, "the text of "+tool, r.Get("content.0.text"),
		"This tool intentionally returns an error for testing")
}

const noSchemaTool = "the tool is not listed"

const schemaTool = "json_schema_2020_12_tool"
