package prompts

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of server/prompts. What stands in a message is judged
// with content, wherever that occurs; here is what the page adds to it.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "prompts.list.array",
			Says:  "the result of prompts/list has an array prompts",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-list-result"},
			Judge: func(j *check.J) { transcript.JudgeShape(j, "ListPromptsResult", "", []string{"/prompts"}) },
		},
		{
			ID:    "prompts.name.string",
			Says:  "every prompt has a string name",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-prompt-name"},
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListPromptsResult", "prompts", []string{"/prompts/*", "/prompts/*/name"})
			},
		},
		{
			ID:    "prompts.name.unique",
			Says:  "no two prompts have the same name",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"prompts-prompt-name-unique"},
			Judge: func(j *check.J) { transcript.JudgeUnique(j, "prompts/list", "prompts", "name", "prompts are called") },
		},
		{
			ID:    "prompts.optional",
			Says:  "the optional members of a prompt are of their types",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-prompt-optional-types"},
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListPromptsResult", "prompts", []string{"/prompts/*/**"}, "/prompts/*", "/prompts/*/name", "/prompts/*/arguments/*/**")
			},
		},
		{
			ID:    "prompts.arguments",
			Says:  "every argument of a prompt has a string name, and else members of their types",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-argument-fields"},
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListPromptsResult", "prompts.#.arguments|@flatten", []string{"/prompts/*/arguments/*/**"})
			},
		},
		{
			ID:    "prompts.get.result",
			Says:  "the result of prompts/get has an array messages; its description is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-get-result"},
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "GetPromptResult", "", []string{"/messages", "/messages/*", "/description"})
			},
		},
		{
			ID:    "prompts.media.type",
			Says:  "pictures and sounds in a prompt name a media type",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-image-content", "prompts-audio-content"},
			// promptMediaType leaves a type that is no string to the judges of content.
			Judge: func(j *check.J) {
				for _, kind := range []string{"image", "audio"} {
					eachPromptBlock(j, kind, func(s transcript.Message, b transcript.Block) {
						switch mime := b.Value.Get("mimeType"); {
						case mime.Type != gjson.String:
						case !format.MediaType.MatchString(mime.Str):
							j.Fail(s.Entry, "%s: %s/mimeType is %q, which is no media type", s.Name, b.Pointer, wire.Clip(mime.Str, 80))
						default:
							j.Saw()
						}
					})
				}
			},
		},
		{
			ID:    "prompts.resource.uri",
			Says:  "a resource that is embedded in a prompt has a URI by RFC 3986",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-embedded-resource-uri"},
			Judge: func(j *check.J) {
				eachPromptBlock(j, "resource", func(s transcript.Message, b transcript.Block) {
					uri := b.Value.Get("resource.uri")
					if uri.Type != gjson.String {
						return
					}
					why := format.URIProblem(uri.Str)
					if why != "" && echoes(j, s.Entry, uri.Str) {
						return // the prompt made its URI of what we filled in
					}
					if why != "" {
						j.Fail(s.Entry, "%s: %s/resource/uri, %q, %s", s.Name, b.Pointer, wire.Clip(uri.Str, 80), why)
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "prompts.resource.type",
			Says:  "a resource that is embedded in a prompt names its media type",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"prompts-embedded-resource-mime-type"},
			Judge: func(j *check.J) {
				eachPromptBlock(j, "resource", func(s transcript.Message, b transcript.Block) {
					switch mime := b.Value.Get("resource.mimeType"); {
					case !b.Value.Get("resource").IsObject() || mime.Exists() && mime.Type != gjson.String:
					case mime.String() == "":
						j.Fail(s.Entry, "%s: %s/resource has no mimeType", s.Name, b.Pointer)
					default:
						j.Saw()
					}
				})
			},
		},
	}
}

// eachPromptBlock gives the content blocks of a type in the messages of
// prompts.
func eachPromptBlock(j *check.J, kind string, look func(s transcript.Message, b transcript.Block)) {
	transcript.EachContent(j, func(s transcript.Message, blocks []transcript.Block) {
		if s.Definition != "GetPromptResult" {
			return
		}
		for _, b := range blocks {
			if b.Is(kind) {
				look(s, b)
			}
		}
	})
}

// echoes tells whether a text is an argument of the prompts/get that an entry
// answers.
func echoes(j *check.J, answer wire.Entry, text string) (found bool) {
	request, ok := j.RequestOf(answer)
	if !ok {
		return false
	}
	request.Message.Params().Get("arguments").ForEach(func(_, value gjson.Result) bool {
		found = found || value.String() == text
		return !found
	})
	return found
}
