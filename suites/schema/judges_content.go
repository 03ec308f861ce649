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
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// contentJudges returns the judges of content blocks (schema.ts#ContentBlock) wherever a
// server sends them: in results of tools and prompts, and in requests for sampling.
func contentJudges() []check.Check {
	return []check.Check{
		{
			ID:    "schema.content.type",
			Says:  "every content block is an object of a type that the revision has in its place",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-content-types-closed", "prompts-message-content"},
			Idle:  "the server sent no content",
			Hint:  "offer a prompt or a read-only tool that returns content",
			Judge: func(j *check.J) {
				for _, c := range transcript.Contents(j) {
					check.Each(j, c.Blocks, func(b transcript.Block) bool {
						switch kind := b.Value.Get("type"); {
						case !b.Value.IsObject():
							j.Fail(c.Entry, "%s: %s is %s, not a content block", c.Name, b.Pointer,
								wire.TypeName(b.Value))
						case kind.Type != gjson.String:
							j.Fail(c.Entry, "%s: %s/type is %s, not a string", c.Name, b.Pointer, wire.TypeName(kind))
						case !slices.Contains(b.Types, kind.Str):
							j.Fail(c.Entry, "%s: %s/type is %q, and %s has %s there",
								c.Name, b.Pointer, wire.Clip(kind.Str, 40), j.Rev, strings.Join(b.Types, ", "))
						}
						return true
					})
				}
			},
		},
		{
			ID:    "schema.content.text",
			Says:  "a text block has a string text",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-text-content"},
			Idle:  "the server sent no text block",
			Hint:  "offer a prompt or a read-only tool that returns text",
			Judge: func(j *check.J) { judgeBlocks(j, "text", "TextContent", "") },
		},
		{
			ID:    "schema.content.image",
			Says:  "an image block has base64 data and a string mimeType",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-image-content"},
			Idle:  "the server sent no image block",
			Hint:  "offer a prompt or a read-only tool that returns an image",
			Judge: func(j *check.J) { judgeBlocks(j, "image", "ImageContent", "data") },
		},
		{
			ID:    "schema.content.audio",
			Says:  "an audio block has base64 data and a string mimeType",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"schema-audio-content"},
			Idle:  "the server sent no audio block",
			Hint:  "offer a prompt or a read-only tool that returns audio",
			Judge: func(j *check.J) { judgeBlocks(j, "audio", "AudioContent", "data") },
		},
		{
			ID:    "schema.content.resource",
			Says:  "an embedded resource has a resource with a uri and either text or a base64 blob",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-embedded-resource", "prompts-embedded-resource-data"},
			Idle:  "the server sent no embedded resource",
			Hint:  "offer a prompt or a read-only tool that returns an embedded resource",
			Judge: func(j *check.J) { judgeBlocks(j, "resource", "EmbeddedResource", "resource.blob") },
		},
		{
			ID:    "schema.content.resource-link",
			Says:  "a resource link has a uri and a name, and the other members of a resource have their types",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"schema-resource-link"},
			Idle:  "the server sent no resource link",
			Hint:  "offer a prompt or a read-only tool that returns a resource link",
			Judge: func(j *check.J) { judgeBlocks(j, "resource_link", "ResourceLink", "") },
		},
		{
			ID:    "schema.content.tool-use",
			Says:  "a tool use has a string id, a string name and an object input",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-tool-use-content"},
			Idle:  "the server sent no tool use in a request for sampling",
			Hint:  expect.HintToolLoop,
			Judge: func(j *check.J) { judgeBlocks(j, "tool_use", "ToolUseContent", "") },
		},
		{
			ID:    "schema.content.tool-result",
			Says:  "a tool result names a tool use before it in the same request, and its content is an array",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-tool-result-content"},
			Idle:  "the server sent no tool result in a request for sampling",
			Hint:  expect.HintToolLoop,
			Judge: func(j *check.J) {
				for _, c := range transcript.Contents(j) {
					used := map[string]bool{} // ids of tool uses
					check.Each(j, c.Blocks, func(b transcript.Block) bool {
						if b.HasType("tool_use") {
							used[b.Value.Get("id").String()] = true
						}
						if !b.HasType("tool_result") {
							return false
						}
						id := b.Value.Get("toolUseId").String()
						if blockFits(j, c.Message, b, "ToolResultContent") && !used[id] {
							j.Fail(c.Entry, "%s: %s/toolUseId is %q, which no tool use before it has",
								c.Name, b.Pointer, wire.Clip(id, 80))
						}
						return true
					})
				}
			},
		},
		{
			ID:    "schema.role",
			Says:  `the role of a message is "user" or "assistant"`,
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-role-enum", "prompts-message-role"},
			Idle:  "the server sent no message of a prompt or for sampling",
			Hint:  "list a prompt that requires no argument, and return a message",
			Judge: func(j *check.J) {
				for _, s := range transcript.Messages(j) {
					prompt, sampling := s.Messages(j)
					check.Each(j, slices.Concat(prompt, sampling), func(message transcript.Part) bool {
						role := message.Member("role")
						switch {
						case !role.Value.Exists():
							j.Fail(s.Entry, `%s: %s is absent, not "user" or "assistant"`, s.Name, role.Pointer)
						case !isRole(role.Value):
							j.Fail(s.Entry, `%s: %s is %s, not "user" or "assistant"`,
								s.Name, role.Pointer, wire.Clip(role.Value.Raw, 40))
						}
						return true
					})
				}
			},
		},
	}
}

// judgeBlocks judges the blocks of one type by their definition; binary is the path of
// the member that holds base64, if the type has one.
func judgeBlocks(j *check.J, kind, def, binary string) {
	for _, c := range transcript.Contents(j) {
		check.Each(j, c.Blocks, func(b transcript.Block) bool {
			if !b.HasType(kind) {
				return false
			}
			if blockFits(j, c.Message, b, def) {
				judgeBase64(j, c.Message, b, binary)
			}
			return true
		})
	}
}

// placesJudgedElsewhere are the parts of a block that other checks judge wherever they
// stand, and the blocks in a tool result, which are judged by themselves.
var placesJudgedElsewhere = []string{"**/_meta/**", "**/annotations/*/**", "**/icons/**", "/content/*/**"}

// blockFits reports whether a block fits its definition, and fails the check if not.
func blockFits(j *check.J, s transcript.Message, b transcript.Block, def string) bool {
	for _, v := range schema.For(j.Rev).Validate(def, []byte(b.Value.Raw)) {
		if !transcript.PointerMatches(v.Pointer(), placesJudgedElsewhere) {
			j.Fail(s.Entry, "%s: %s%s", s.Name, b.Pointer, v)
			return false
		}
	}
	return true
}

// judgeBase64 judges that a member of a block is base64, with padding or without.
func judgeBase64(j *check.J, s transcript.Message, b transcript.Block, path string) {
	data := b.Value.Get(path)
	if path == "" || data.Type != gjson.String {
		return
	}
	pointer := b.Pointer + "/" + strings.ReplaceAll(path, ".", "/")
	if padded, ok := format.IsBase64(data.Str); !ok {
		j.Fail(s.Entry, "%s: %s is not base64: %q", s.Name, pointer, wire.Clip(data.Str, 40))
	} else if !padded {
		j.Note("%s: %s lacks the padding of base64", s.Name, pointer)
	}
}
