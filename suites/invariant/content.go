package invariant

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// content are the judges of content blocks (schema.ts#ContentBlock), wherever
// a server sends them: in results of tools and prompts, and in requests for
// sampling.
func content() []check.Check {
	return []check.Check{
		{
			ID:    "schema.content.type",
			Says:  "every content block is an object of a type that the revision has at its place",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-content-types-closed", "prompts-message-content"},
			Judge: contentType,
		},
		{
			ID:    "schema.content.text",
			Says:  "a text block has a string text",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-text-content"},
			Judge: contentOf("text", "TextContent", ""),
		},
		{
			ID:    "schema.content.image",
			Says:  "an image block has base64 data and a string mimeType",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-image-content"},
			Judge: contentOf("image", "ImageContent", "data"),
		},
		{
			ID:    "schema.content.audio",
			Says:  "an audio block has base64 data and a string mimeType",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"schema-audio-content"},
			Judge: contentOf("audio", "AudioContent", "data"),
		},
		{
			ID:    "schema.content.resource",
			Says:  "an embedded resource has a resource with a uri and either text or a base64 blob",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-embedded-resource", "prompts-embedded-resource-data"},
			Judge: contentOf("resource", "EmbeddedResource", "resource.blob"),
		},
		{
			ID:    "schema.content.resource-link",
			Says:  "a resource link has a uri and a name, and else the members of a resource",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"schema-resource-link"},
			Judge: contentOf("resource_link", "ResourceLink", ""),
		},
		{
			ID:    "schema.content.tool-use",
			Says:  "a tool use has a string id, a string name and an object input",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-tool-use-content"},
			Judge: contentOf("tool_use", "ToolUseContent", ""),
		},
		{
			ID:    "schema.content.tool-result",
			Says:  "a tool result names an earlier tool use and has an array content",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-tool-result-content"},
			Judge: toolResultContent,
		},
		{
			ID:    "schema.role",
			Says:  `the role of a message is "user" or "assistant"`,
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-role-enum", "prompts-message-role"},
			Judge: role,
		},
	}
}

// A block is a value that stands where content does.
type block struct {
	part
	types []string // that the revision has there
}

// is tells whether the block is of a type, where that type may stand.
func (b block) is(kind string) bool {
	return b.v.IsObject() && b.v.Get("type").Type == gjson.String && b.v.Get("type").Str == kind && slices.Contains(b.types, kind)
}

// eachContent gives the content blocks of each message that has any.
func eachContent(j *check.J, look func(s said, blocks []block)) {
	type content struct {
		said
		blocks []block
	}
	for _, c := range check.Derived(j, "content", func() (all []content) {
		eachSaid(j, func(s said) {
			if b := s.blocks(j); b != nil {
				all = append(all, content{s, b})
			}
		})
		return all
	}) {
		look(c.said, c.blocks)
	}
}

// blocks returns the content of what was said.
func (s said) blocks(j *check.J) []block {
	var out []block
	add := func(p part, types []string) {
		b := block{p, types}
		out = append(out, b)
		if b.is("tool_result") {
			for _, inner := range p.member("content").items() {
				out = append(out, block{inner, j.Facts.ContentTypes})
			}
		}
	}
	if s.def == "CallToolResult" {
		for _, p := range (part{"", s.value}).member("content").items() {
			add(p, j.Facts.ContentTypes)
		}
	}
	prompt, sampling := s.messages(j)
	for _, message := range prompt {
		add(message.member("content"), j.Facts.ContentTypes)
	}
	lists := schema.For(j.Rev).Has("SamplingMessageContentBlock") // or several blocks a message
	for _, message := range sampling {
		one := message.member("content")
		if !lists || !one.v.IsArray() {
			add(one, j.Facts.SamplingContentTypes)
			continue
		}
		for _, p := range one.items() {
			add(p, j.Facts.SamplingContentTypes)
		}
	}
	return out
}

func contentType(j *check.J) {
	eachContent(j, func(s said, blocks []block) {
		for _, b := range blocks {
			switch kind := b.v.Get("type"); {
			case !b.v.IsObject():
				j.Fail(s.Entry, "%s: %s is %s, not a content block", s.name, b.at, wire.TypeName(b.v))
			case kind.Type != gjson.String:
				j.Fail(s.Entry, "%s: %s/type is %s, not a string", s.name, b.at, wire.TypeName(kind))
			case !slices.Contains(b.types, kind.Str):
				j.Fail(s.Entry, "%s: %s/type is %q, and %s has %s there", s.name, b.at, wire.Clip(kind.Str, 40), j.Rev, strings.Join(b.types, ", "))
			default:
				j.Saw()
			}
		}
	})
}

// contentOf judges the blocks of one type by their definition; binary is the
// path of the member that holds bytes, if the type has one.
func contentOf(kind, def, binary string) func(*check.J) {
	return func(j *check.J) {
		eachContent(j, func(s said, blocks []block) {
			for _, b := range blocks {
				if b.is(kind) && blockFits(j, s, b, def) && decodes(j, s, b, binary) {
					j.Saw()
				}
			}
		})
	}
}

// inBlocks are the parts of a block that have judges of their own wherever
// they occur; the blocks in a tool result are judged as such.
var inBlocks = []string{"**/_meta/**", "**/annotations/*/**", "**/icons/**", "/content/*/**"}

// blockFits tells whether a block fits its definition, and fails the check if not.
func blockFits(j *check.J, s said, b block, def string) bool {
	for _, v := range schema.For(j.Rev).Validate(def, []byte(b.v.Raw)) {
		if !within(v.Place(), inBlocks) {
			j.Fail(s.Entry, "%s: %s%s", s.name, b.at, v)
			return false
		}
	}
	return true
}

func decodes(j *check.J, s said, b block, binary string) bool {
	data := b.v.Get(binary)
	if binary == "" || data.Type != gjson.String {
		return true
	}
	at := b.at + "/" + strings.ReplaceAll(binary, ".", "/")
	padded, ok := isBase64(data.Str)
	if !ok {
		j.Fail(s.Entry, "%s: %s is not base64: %q", s.name, at, wire.Clip(data.Str, 40))
	} else if !padded {
		j.Note("%s: %s lacks the padding of base64", s.name, at)
	}
	return ok
}

// isBase64 tells whether a text decodes as base64 (RFC 4648, section 4). Line
// breaks and missing padding, which decoders pass over, are let pass; the
// alphabet of section 5 is another encoding.
func isBase64(text string) (padded, ok bool) {
	text = strings.NewReplacer("\r", "", "\n", "", " ", "", "\t", "").Replace(text)
	if _, err := base64.StdEncoding.DecodeString(text); err == nil {
		return true, true
	}
	_, err := base64.RawStdEncoding.DecodeString(text)
	return false, err == nil
}

// toolResultContent also looks for the tool use that a result names, in the
// messages before it.
func toolResultContent(j *check.J) {
	eachContent(j, func(s said, blocks []block) {
		used := map[string]bool{}
		for _, b := range blocks {
			switch {
			case b.is("tool_use"):
				used[b.v.Get("id").String()] = true
			case b.is("tool_result") && blockFits(j, s, b, "ToolResultContent"):
				if id := b.v.Get("toolUseId").String(); !used[id] {
					j.Fail(s.Entry, "%s: %s/toolUseId is %q, which no tool use before it has", s.name, b.at, wire.Clip(id, 80))
					return
				}
				j.Saw()
			}
		}
	})
}

func role(j *check.J) {
	eachSaid(j, func(s said) {
		prompt, sampling := s.messages(j)
		for _, message := range slices.Concat(prompt, sampling) {
			r := message.member("role")
			if r.v.Type != gjson.String || r.v.Str != "user" && r.v.Str != "assistant" {
				got := wire.Clip(r.v.Raw, 40)
				if !r.v.Exists() {
					got = "absent"
				}
				j.Fail(s.Entry, `%s: %s is %s, not "user" or "assistant"`, s.name, r.at, got)
				continue
			}
			j.Saw()
		}
	})
}
