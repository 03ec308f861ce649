package schema

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// contentJudges are the judges of content blocks (schema.ts#ContentBlock), wherever
// a server sends them: in results of tools and prompts, and in requests for
// sampling.
func contentJudges() []check.Check {
	return []check.Check{
		{
			ID:    "schema.content.type",
			Says:  "every content block is an object of a type that the revision has at its place",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-content-types-closed", "prompts-message-content"},
			Judge: func(j *check.J) {
				transcript.EachContent(j, func(s transcript.Message, blocks []transcript.Block) {
					for _, b := range blocks {
						switch kind := b.Value.Get("type"); {
						case !b.Value.IsObject():
							j.Fail(s.Entry, "%s: %s is %s, not a content block", s.Name, b.Pointer, wire.TypeName(b.Value))
						case kind.Type != gjson.String:
							j.Fail(s.Entry, "%s: %s/type is %s, not a string", s.Name, b.Pointer, wire.TypeName(kind))
						case !slices.Contains(b.Types, kind.Str):
							j.Fail(s.Entry, "%s: %s/type is %q, and %s has %s there", s.Name, b.Pointer, wire.Clip(kind.Str, 40), j.Rev, strings.Join(b.Types, ", "))
						default:
							j.Saw()
						}
					}
				})
			},
		},
		{
			ID:    "schema.content.text",
			Says:  "a text block has a string text",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-text-content"},
			Judge: func(j *check.J) { contentOf(j, "text", "TextContent", "") },
		},
		{
			ID:    "schema.content.image",
			Says:  "an image block has base64 data and a string mimeType",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-image-content"},
			Judge: func(j *check.J) { contentOf(j, "image", "ImageContent", "data") },
		},
		{
			ID:    "schema.content.audio",
			Says:  "an audio block has base64 data and a string mimeType",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"schema-audio-content"},
			Judge: func(j *check.J) { contentOf(j, "audio", "AudioContent", "data") },
		},
		{
			ID:    "schema.content.resource",
			Says:  "an embedded resource has a resource with a uri and either text or a base64 blob",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-embedded-resource", "prompts-embedded-resource-data"},
			Judge: func(j *check.J) { contentOf(j, "resource", "EmbeddedResource", "resource.blob") },
		},
		{
			ID:    "schema.content.resource-link",
			Says:  "a resource link has a uri and a name, and else the members of a resource",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"schema-resource-link"},
			Judge: func(j *check.J) { contentOf(j, "resource_link", "ResourceLink", "") },
		},
		{
			ID:    "schema.content.tool-use",
			Says:  "a tool use has a string id, a string name and an object input",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-tool-use-content"},
			Judge: func(j *check.J) { contentOf(j, "tool_use", "ToolUseContent", "") },
		},
		{
			ID:    "schema.content.tool-result",
			Says:  "a tool result names an earlier tool use and has an array content",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-tool-result-content"},
			// toolResultContent also looks for the tool use that a result names, in the
			// messages before it.
			Judge: func(j *check.J) {
				transcript.EachContent(j, func(s transcript.Message, blocks []transcript.Block) {
					used := map[string]bool{}
					for _, b := range blocks {
						switch {
						case b.Is("tool_use"):
							used[b.Value.Get("id").String()] = true
						case b.Is("tool_result") && blockFits(j, s, b, "ToolResultContent"):
							if id := b.Value.Get("toolUseId").String(); !used[id] {
								j.Fail(s.Entry, "%s: %s/toolUseId is %q, which no tool use before it has", s.Name, b.Pointer, wire.Clip(id, 80))
								return
							}
							j.Saw()
						}
					}
				})
			},
		},
		{
			ID:    "schema.role",
			Says:  `the role of a message is "user" or "assistant"`,
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-role-enum", "prompts-message-role"},
			Judge: func(j *check.J) {
				transcript.EachMessage(j, func(s transcript.Message) {
					prompt, sampling := s.Messages(j)
					for _, message := range slices.Concat(prompt, sampling) {
						r := message.Member("role")
						if r.Value.Type != gjson.String || r.Value.Str != "user" && r.Value.Str != "assistant" {
							got := wire.Clip(r.Value.Raw, 40)
							if !r.Value.Exists() {
								got = "absent"
							}
							j.Fail(s.Entry, `%s: %s is %s, not "user" or "assistant"`, s.Name, r.Pointer, got)
							continue
						}
						j.Saw()
					}
				})
			},
		},
	}
}

// contentOf judges the blocks of one type by their definition; binary is the
// path of the member that holds bytes, if the type has one.
func contentOf(j *check.J, kind, def, binary string) {
	transcript.EachContent(j, func(s transcript.Message, blocks []transcript.Block) {
		for _, b := range blocks {
			if b.Is(kind) && blockFits(j, s, b, def) && decodes(j, s, b, binary) {
				j.Saw()
			}
		}
	})
}

// inBlocks are the parts of a block that have judges of their own wherever
// they occur; the blocks in a tool result are judged as such.
var inBlocks = []string{"**/_meta/**", "**/annotations/*/**", "**/icons/**", "/content/*/**"}

// blockFits tells whether a block fits its definition, and fails the check if not.
func blockFits(j *check.J, s transcript.Message, b transcript.Block, def string) bool {
	for _, v := range schema.For(j.Rev).Validate(def, []byte(b.Value.Raw)) {
		if !transcript.PointerMatches(v.Place(), inBlocks) {
			j.Fail(s.Entry, "%s: %s%s", s.Name, b.Pointer, v)
			return false
		}
	}
	return true
}

func decodes(j *check.J, s transcript.Message, b transcript.Block, binary string) bool {
	data := b.Value.Get(binary)
	if binary == "" || data.Type != gjson.String {
		return true
	}
	at := b.Pointer + "/" + strings.ReplaceAll(binary, ".", "/")
	padded, ok := format.IsBase64(data.Str)
	if !ok {
		j.Fail(s.Entry, "%s: %s is not base64: %q", s.Name, at, wire.Clip(data.Str, 40))
	} else if !padded {
		j.Note("%s: %s lacks the padding of base64", s.Name, at)
	}
	return ok
}
