package official

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// officialContent are the tools of the contract that show each kind of content.
func officialContent() []check.Check {
	return []check.Check{
		{
			ID:    "official.tools.simple-text",
			Says:  "test_simple_text, called without arguments, says something",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-simple-text",
			Probe: func(t *check.T) { contractSimpleText(t, nil) },
		},
		{
			ID:    "official.tools.image",
			Says:  "test_image_content shows a picture",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-image",
			Probe: func(t *check.T) { contractImage(t, nil) },
		},
		{
			ID:    "official.tools.audio",
			Says:  "test_audio_content plays a WAV sound",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-audio",
			Probe: func(t *check.T) {
				const tool = "test_audio_content"
				content := contractCall(t, tool, check.Params{}).Get("content")
				mustHaveTypes(t, tool, content, "audio")
				contract.MustDeclare(t, "the mimeType of "+tool, content.Get("0.mimeType"), "audio/wav")
				mustShow(t, tool, content.Get("0"), "data", "audio/wav", isWAV)
			},
		},
		{
			ID:    "official.tools.embedded-resource",
			Says:  "test_embedded_resource holds its resource",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-embedded-resource",
			Probe: func(t *check.T) { contractEmbedded(t, nil) },
		},
		{
			ID:    "official.tools.mixed-content",
			Says:  "test_multiple_content_types says a sentence, shows a picture and holds a resource",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-mixed-content",
			Probe: func(t *check.T) { contractMixed(t, nil) },
		},
		{
			ID:    "official.tools.error",
			Says:  "test_error_handling says in its result that it failed",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-error",
			Probe: func(t *check.T) { contractError(t, nil) },
		},
		{
			ID:    "official.tools.json-schema",
			Says:  "the inputSchema of json_schema_2020_12_tool is listed with its $schema, its $defs and additionalProperties false",
			Level: spec.Must,
			In:    since2025_11,
			Spec:  "json-schema-2020-12",
			// contractSchema leaves out the $anchor, which the contract has since
			// 2026-07-28.
			Probe: func(t *check.T) {
				input := contractItem(t, offer.ToolsList, "tool", schemaTool).Get("inputSchema")
				contract.MustDeclare(t, "$schema of the inputSchema", input.Get("$schema"), "https://json-schema.org/draft/2020-12/schema")
				mustBe(t, "the type of $defs.address", input.Get("$defs.address.type"), `"object"`)
				mustBe(t, "the properties of $defs.address", input.Get("$defs.address.properties"), `{"street":{"type":"string"},"city":{"type":"string"}}`)
				mustBe(t, "the reference to $defs.address", input.Get("properties.address"), `{"$ref":"#/$defs/address"}`)
				mustBe(t, "additionalProperties of the inputSchema", input.Get("additionalProperties"), "false")
			},
		},
		{
			ID:    "official.tools.json-schema.composition",
			Says:  "the inputSchema of json_schema_2020_12_tool is listed with its allOf, anyOf, if, then, else and $anchor",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "json-schema-2020-12",
			Probe: func(t *check.T) {
				input := contractItem(t, offer.ToolsList, "tool", schemaTool).Get("inputSchema")
				mustBe(t, "$anchor of $defs.address", input.Get("$defs.address.$anchor"), `"addressDef"`)
				for _, c := range [][2]string{
					{"allOf", `[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}]`},
					{"if", `{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]}`},
					{"then", `{"required":["phone"]}`},
					{"else", `{"required":["email"]}`},
				} {
					mustBe(t, c[0]+" of the inputSchema", input.Get(c[0]), c[1])
				}
			},
		},
	}
}

func contractSimpleText(t *check.T, s *scribe) {
	const tool = "test_simple_text"
	content := contractCall(t, tool, nil).Get("content")
	mustHaveTypes(t, tool, content, "text")
	contract.MustHaveText(t, "the text of "+tool, content.Get("0.text"))
	s.text(t, "the text of "+tool, content.Get("0.text"), "This is a simple text response for testing.")
}

func contractImage(t *check.T, s *scribe) {
	const tool = "test_image_content"
	content := contractCall(t, tool, check.Params{}).Get("content")
	mustHaveTypes(t, tool, content, "image")
	mustShow(t, tool, content.Get("0"), "data", "image/png", isPNG)
	s.text(t, "the mimeType of "+tool, content.Get("0.mimeType"), "image/png")
}

func contractEmbedded(t *check.T, s *scribe) {
	const tool = "test_embedded_resource"
	content := contractCall(t, tool, check.Params{}).Get("content")
	mustHaveTypes(t, tool, content, "resource")
	mustRead(t, s, "the resource in "+tool, content.Get("0.resource"), "test://embedded-resource", "text/plain", "This is an embedded resource content.")
}

func contractMixed(t *check.T, s *scribe) {
	const tool = "test_multiple_content_types"
	content := contractCall(t, tool, check.Params{}).Get("content")
	mustHaveTypes(t, tool, content, "text", "image", "resource")
	mustShow(t, "the picture of "+tool, content.Get("1"), "data", "image/png", isPNG)
	s.text(t, "the text of "+tool, content.Get("0.text"), "Multiple content types test:")
	s.text(t, "the mimeType of the picture of "+tool, content.Get("1.mimeType"), "image/png")
	mustRead(t, s, "the resource in "+tool, content.Get("2.resource"), "test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)
}

// contractError: SDKs put words of their own around the text of an error.
func contractError(t *check.T, s *scribe) {
	const tool = "test_error_handling"
	r := contractResult(t, "the call of "+tool, t.Request("tools/call", contractParams(t, tool, check.Params{})))
	mustBe(t, "isError in the result of "+tool, r.Get("isError"), "true")
	mustHaveTypes(t, tool, r.Get("content"), "text")
	contract.MustHaveText(t, "the text of "+tool, r.Get("content.0.text"))
	s.holding(t, "the text of "+tool, r.Get("content.0.text"), "This tool intentionally returns an error for testing")
}

const schemaTool = "json_schema_2020_12_tool"
