package prompts

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges returns the judges of server/prompts: of the definitions that a server
// lists, and of the prompts that it returns. The content blocks of a message are
// judged by the checks of schema, except for what the page adds.
func judges() []check.Check {
	return slices.Concat(judgesOfLists(), judgesOfPrompts())
}

// The reasons why several judges are not observed, and what helps.
const (
	noList      = "the server returned no list of prompts"
	noListed    = "the server listed no prompt"
	offerPrompt = "list a prompt"
	offerUsable = "list a prompt that requires no argument, or give its arguments: prompts in --config"
)

// judgesOfLists returns the judges of #listing-prompts and #prompt.
func judgesOfLists() []check.Check {
	return []check.Check{
		{
			ID:    "prompts.list.array",
			Says:  "the result of prompts/list has an array prompts",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-list-result"},
			Idle:  noList,
			Hint:  "offer prompts, and answer prompts/list",
			Judge: func(j *check.J) { transcript.JudgeShape(j, "ListPromptsResult", "", []string{"/prompts"}) },
		},
		{
			ID:    "prompts.name.string",
			Says:  "every prompt has a string name",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-prompt-name"},
			Idle:  noListed,
			Hint:  offerPrompt,
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
			Idle:  noListed,
			Hint:  offerPrompt,
			Judge: func(j *check.J) {
				transcript.JudgeUnique(j, "prompts/list", "prompts", "name", "prompts have the name")
			},
		},
		{
			ID:    "prompts.optional",
			Says:  "the optional members of a prompt have the types of the schema",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-prompt-optional-types"},
			Idle:  noListed,
			Hint:  offerPrompt,
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListPromptsResult", "prompts", []string{"/prompts/*/**"},
					"/prompts/*", "/prompts/*/name", "/prompts/*/arguments/*/**")
			},
		},
		{
			ID:    "prompts.arguments",
			Says:  "every argument of a prompt has a string name and optional members of the types of the schema",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-argument-fields"},
			Idle:  "the server listed no prompt with arguments",
			Hint:  "offer a prompt with arguments",
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListPromptsResult", "prompts.#.arguments|@flatten",
					[]string{"/prompts/*/arguments/*/**"})
			},
		},
	}
}

// judgesOfPrompts returns the judges of #getting-a-prompt and #promptmessage.
func judgesOfPrompts() []check.Check {
	return []check.Check{
		{
			ID:    "prompts.get.result",
			Says:  "the result of prompts/get has an array messages, and its description is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-get-result"},
			Idle:  "the server returned no prompt",
			Hint:  offerUsable,
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "GetPromptResult", "", []string{"/messages", "/messages/*", "/description"})
			},
		},
		{
			ID:    "prompts.media.type",
			Says:  "an image or audio content of a prompt has a valid media type",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-image-content", "prompts-audio-content"},
			Idle:  "no prompt has image or audio content",
			Hint:  "return an image or audio in a prompt",
			// The judges of content judge a mimeType that is not a string.
			Judge: func(j *check.J) {
				check.Each(j, promptBlocks(j, "image", "audio"), func(b promptBlock) bool {
					mime := b.Value.Get("mimeType")
					if mime.Type == gjson.String && !format.MediaType.MatchString(mime.Str) {
						j.Fail(b.message.Entry, "%s: %s/mimeType is %q, which is not a media type",
							b.message.Name, b.Pointer, wire.Clip(mime.Str, 80))
					}
					return mime.Type == gjson.String
				})
			},
		},
		{
			ID:    "prompts.resource.uri",
			Says:  "a resource that a prompt embeds has a URI according to RFC 3986",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-embedded-resource-uri"},
			Idle:  noResource,
			Hint:  embedResource,
			// A prompt may make its URI of an argument, which mcpcheck chose.
			Judge: func(j *check.J) {
				check.Each(j, promptBlocks(j, "resource"), func(b promptBlock) bool {
					uri := b.Value.Get("resource.uri")
					if uri.Type != gjson.String {
						return false
					}
					problem := format.URIProblem(uri.Str)
					if problem != "" && isArgument(j, b.message.Entry, uri.Str) {
						return false
					}
					if problem != "" {
						j.Fail(b.message.Entry, "%s: %s/resource/uri, %q, %s",
							b.message.Name, b.Pointer, wire.Clip(uri.Str, 80), problem)
					}
					return true
				})
			},
		},
		{
			ID:    "prompts.resource.type",
			Says:  "a resource that a prompt embeds has a media type",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"prompts-embedded-resource-mime-type"},
			Idle:  noResource,
			Hint:  embedResource,
			Judge: func(j *check.J) {
				check.Each(j, promptBlocks(j, "resource"), func(b promptBlock) bool {
					mime := b.Value.Get("resource.mimeType")
					if !b.Value.Get("resource").IsObject() || mime.Exists() && mime.Type != gjson.String {
						return false
					}
					if mime.String() == "" {
						j.Fail(b.message.Entry, "%s: %s/resource has no mimeType", b.message.Name, b.Pointer)
					}
					return true
				})
			},
		},
	}
}

// Why the judges of embedded resources are not observed, and what helps.
const (
	noResource    = "no prompt embeds a resource"
	embedResource = "embed a resource in a prompt"
)

// A promptBlock is a content block in a message of a prompt.
type promptBlock struct {
	message transcript.Message // the result of prompts/get
	transcript.Block
}

// promptBlocks returns the content blocks of some types in the messages of prompts.
func promptBlocks(j *check.J, types ...string) []promptBlock {
	var out []promptBlock
	for _, c := range transcript.Contents(j) {
		for _, b := range c.Blocks {
			if c.Definition == "GetPromptResult" && slices.ContainsFunc(types, b.HasType) {
				out = append(out, promptBlock{c.Message, b})
			}
		}
	}
	return out
}

// isArgument reports whether a text is an argument of the prompts/get that a frame
// answers.
func isArgument(j *check.J, answer wire.Entry, text string) (found bool) {
	request, ok := j.RequestOf(answer)
	if !ok {
		return false
	}
	request.Message.Params().Get("arguments").ForEach(func(_, value gjson.Result) bool {
		found = value.String() == text
		return !found
	})
	return found
}
