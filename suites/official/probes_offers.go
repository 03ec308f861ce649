package official

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// offerProbes returns the probes of the resources and prompts of the contract.
func offerProbes() []check.Check {
	return []check.Check{
		{
			ID:    "official.resources.text",
			Says:  "the server returns the contents of test://static-text as a text",
			Level: spec.Must,
			In:    inContract,
			Spec:  "resources-read-text",
			Idle:  noRead,
			Probe: func(t *check.T) {
				verifyStaticText(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.resources.binary",
			Says:  "the server returns the contents of test://static-binary as base64",
			Level: spec.Must,
			In:    inContract,
			Spec:  "resources-read-binary",
			Idle:  noRead,
			Probe: func(t *check.T) {
				verifyStaticBinary(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.resources.template",
			Says:  "the server lists the template test://template/{id}/data and returns contents for an id",
			Level: spec.Must,
			In:    inContract,
			Spec:  "resources-templates-read",
			Idle:  noRead,
			Probe: func(t *check.T) {
				verifyTemplate(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.resources.watched",
			Says:  "a client can subscribe to test://watched-resource and unsubscribe from it",
			Level: spec.Must,
			In:    inSessions,
			Spec:  "resources-subscribe",
			Idle:  "no subscription was requested",
			// The probe waits for a change, so that judges see a notification of it. Without
			// one it does not fail: no scenario of the contract asserts changes, and the
			// server of the contract makes none.
			Probe: func(t *check.T) {
				const uri = "test://watched-resource"
				if !t.Declares("resources.subscribe") {
					t.Fail("the capability resources.subscribe", "none",
						"the server does not declare resources.subscribe, which %s needs", uri)
				}
				from := t.Len()
				mustBeResult(t, "resources/subscribe", t.Request("resources/subscribe", check.Params{"uri": uri}))
				_, notified := t.Await(from, func(m wire.Message) bool {
					return m.Method() == "notifications/resources/updated" && m.Params().Get("uri").String() == uri
				}, min(maxChangeWait, t.Timeout()))
				unsubscribed := t.Request("resources/unsubscribe", check.Params{"uri": uri})
				if !notified {
					t.Note("%s did not change within %s of the subscription", uri, min(maxChangeWait, t.Timeout()))
				}
				mustBeResult(t, "resources/unsubscribe", unsubscribed)
				t.Saw()
			},
		},
		{
			ID:    "official.prompts.simple",
			Says:  "test_simple_prompt returns a text message of the user",
			Level: spec.Must,
			In:    inContract,
			Spec:  "prompts-get-simple",
			Idle:  noPrompt,
			Probe: func(t *check.T) {
				verifySimplePrompt(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.prompts.arguments",
			Says:  "test_prompt_with_arguments requires arg1 and arg2 and returns a text with their values",
			Level: spec.Must,
			In:    inContract,
			Spec:  "prompts-get-with-args",
			Idle:  noPrompt,
			Probe: func(t *check.T) {
				verifyPromptArguments(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.prompts.embedded-resource",
			Says:  "test_prompt_with_embedded_resource requires resourceUri and returns a resource with that URI",
			Level: spec.Must,
			In:    inContract,
			Spec:  "prompts-get-embedded-resource",
			Idle:  noPrompt,
			Probe: func(t *check.T) {
				verifyPromptResource(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.prompts.image",
			Says:  "test_prompt_with_image returns an image and a text",
			Level: spec.Must,
			In:    inContract,
			Spec:  "prompts-get-with-image",
			Idle:  noPrompt,
			Probe: func(t *check.T) {
				verifyPromptImage(t, nil)
				t.Saw()
			},
		},
	}
}

// readContents returns the single part of the contents of a resource, which need not be
// listed.
func readContents(t *check.T, uri string) gjson.Result {
	list := mustBeResult(t, "reading "+uri, t.Request("resources/read", check.Params{"uri": uri})).Get("contents")
	if n := len(list.Array()); n != 1 {
		t.Fail("one part in contents", contract.ShortJSON(list), "%s was read as %d parts, not 1", uri, n)
	}
	return list.Get("0")
}

// verifyStaticText asserts the contents of a text resource.
func verifyStaticText(t *check.T, diff *differences) {
	const uri = "test://static-text"
	mustBeContents(t, diff, uri, readContents(t, uri), uri, "text/plain",
		"This is the content of the static text resource.")
}

// verifyStaticBinary asserts the contents of a binary resource.
func verifyStaticBinary(t *check.T, diff *differences) {
	const uri = "test://static-binary"
	part := readContents(t, uri)
	contract.MustBeString(t, "the uri of "+uri, part.Get("uri"), uri)
	contract.MustEncodeFile(t, uri, part, "blob", "image/png", contract.IsPNG)
	diff.compareText(t, "the mimeType of "+uri, part.Get("mimeType"), "image/png")
}

// verifyTemplate asserts that a template is listed and can be filled in.
func verifyTemplate(t *check.T, diff *differences) {
	const uri = "test://template/123/data"
	listedItem(t, offer.TemplatesList, "template", "test://template/{id}/data")
	part := readContents(t, uri)
	mustContain(t, "the text of "+uri, part.Get("text"), "123")
	mustBeContents(t, diff, uri, part, uri, "application/json",
		`{"id":"123","templateTest":true,"data":"Data for ID: 123"}`)
}

// maxChangeWait is how long a change of the watched resource is waited for.
const maxChangeWait = 4 * time.Second

// promptMessages returns the contents of the messages of a prompt. It asserts their types
// and that all are messages of the user.
func promptMessages(t *check.T, prompt string, args check.Params, types ...string) gjson.Result {
	params := check.Params{"name": prompt}
	if args != nil {
		params["arguments"] = args
	}
	list := mustBeResult(t, prompt, t.Request("prompts/get", params)).Get("messages")
	blocks := list.Get("#.content")
	mustHaveTypes(t, prompt, blocks, types...)
	for _, m := range list.Array() {
		contract.MustBeString(t, "the role of a message of "+prompt, m.Get("role"), "user")
	}
	return blocks
}

// mustRequire asserts that a prompt is listed with these arguments, all required.
func mustRequire(t *check.T, prompt string, names ...string) {
	args := listedItem(t, offer.PromptsList, "prompt", prompt).Get("arguments")
	for _, name := range names {
		found := gjson.Result{}
		for _, a := range args.Array() {
			if a.Get("name").String() == name {
				found = a
			}
		}
		if !found.Get("required").Bool() {
			t.Mark(offer.WalkOnce(t, offer.PromptsList).Last)
			t.Fail("a required argument "+name, contract.ShortJSON(args),
				"%s does not list %s as a required argument", prompt, name)
		}
	}
}

// verifySimplePrompt asserts that the prompt returns a text.
func verifySimplePrompt(t *check.T, diff *differences) {
	const prompt = "test_simple_prompt"
	listedItem(t, offer.PromptsList, "prompt", prompt)
	text := promptMessages(t, prompt, nil, "text").Get("0.text")
	contract.MustBeNonEmpty(t, "the text of "+prompt, text)
	diff.compareText(t, "the text of "+prompt, text, "This is a simple prompt for testing.")
}

// verifyPromptArguments asserts that the prompt requires and returns two arguments.
func verifyPromptArguments(t *check.T, diff *differences) {
	const prompt = "test_prompt_with_arguments"
	mustRequire(t, prompt, "arg1", "arg2")
	text := promptMessages(t, prompt, check.Params{"arg1": "testValue1", "arg2": "testValue2"}, "text").Get("0.text")
	mustContain(t, "the text of "+prompt, text, "testValue1", "testValue2")
	diff.compareText(t, "the text of "+prompt, text, "Prompt with arguments: arg1='testValue1', arg2='testValue2'")
}

// verifyPromptResource asserts that the prompt returns a resource with the requested URI.
func verifyPromptResource(t *check.T, diff *differences) {
	const prompt, uri = "test_prompt_with_embedded_resource", "test://example-resource"
	mustRequire(t, prompt, "resourceUri")
	blocks := promptMessages(t, prompt, check.Params{"resourceUri": uri}, "resource", "text")
	contract.MustBeString(t, "the uri of the resource in "+prompt, blocks.Get("0.resource.uri"), uri)
	mustBeContents(t, diff, "the resource in "+prompt, blocks.Get("0.resource"), uri, "text/plain",
		"Embedded resource content for testing.")
	diff.compareText(t, "the text of "+prompt, blocks.Get("1.text"), "Please process the embedded resource above.")
}

// verifyPromptImage asserts that the prompt returns an image and a text.
func verifyPromptImage(t *check.T, diff *differences) {
	const prompt = "test_prompt_with_image"
	listedItem(t, offer.PromptsList, "prompt", prompt)
	blocks := promptMessages(t, prompt, nil, "image", "text")
	contract.MustEncodeFile(t, prompt, blocks.Get("0"), "data", "image/png", contract.IsPNG)
	diff.compareText(t, "the mimeType of the image of "+prompt, blocks.Get("0.mimeType"), "image/png")
	diff.compareText(t, "the text of "+prompt, blocks.Get("1.text"), "Please analyze the image above.")
}
