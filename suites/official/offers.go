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

// officialOffers are the resources and prompts of the contract.
func officialOffers() []check.Check {
	return []check.Check{
		{
			ID:    "official.resources.text",
			Says:  "test://static-text is read as a text",
			Level: spec.Must,
			In:    inContract,
			Spec:  "resources-read-text",
			Probe: func(t *check.T) { contractStaticText(t, nil) },
		},
		{
			ID:    "official.resources.binary",
			Says:  "test://static-binary is read as base64",
			Level: spec.Must,
			In:    inContract,
			Spec:  "resources-read-binary",
			Probe: func(t *check.T) { contractStaticBinary(t, nil) },
		},
		{
			ID:    "official.resources.template",
			Says:  "test://template/{id}/data is listed as a template, and read with the id filled in",
			Level: spec.Must,
			In:    inContract,
			Spec:  "resources-templates-read",
			Probe: func(t *check.T) { contractTemplate(t, nil) },
		},
		{
			ID:    "official.resources.watched",
			Says:  "test://watched-resource can be subscribed to and unsubscribed from",
			Level: spec.Must,
			In:    inSessions,
			Spec:  "resources-subscribe",
			// contractWatched waits for a change, so that judges see one. That none comes
			// is no failure: the contract tells of changes beside its scenarios, and its
			// own server makes none.
			Probe: func(t *check.T) {
				const uri = "test://watched-resource"
				if !t.Declares("resources.subscribe") {
					t.Fail("the capability resources.subscribe", "none", "the server does not declare resources.subscribe, which %s needs", uri)
				}
				from := t.Len()
				contractResult(t, "resources/subscribe", t.Request("resources/subscribe", check.Params{"uri": uri}))
				_, told := t.Await(from, func(m wire.Message) bool {
					return m.Method() == "notifications/resources/updated" && m.Params().Get("uri").String() == uri
				}, min(longRest, t.Timeout()))
				left := t.Request("resources/unsubscribe", check.Params{"uri": uri})
				if !told {
					t.Note("no change of %s was told within %s of the subscription", uri, min(longRest, t.Timeout()))
				}
				contractResult(t, "resources/unsubscribe", left)
			},
		},
		{
			ID:    "official.prompts.simple",
			Says:  "test_simple_prompt is a text of the user",
			Level: spec.Must,
			In:    inContract,
			Spec:  "prompts-get-simple",
			Probe: func(t *check.T) { contractSimplePrompt(t, nil) },
		},
		{
			ID:    "official.prompts.arguments",
			Says:  "test_prompt_with_arguments requires arg1 and arg2, and says them",
			Level: spec.Must,
			In:    inContract,
			Spec:  "prompts-get-with-args",
			Probe: func(t *check.T) { contractPromptArguments(t, nil) },
		},
		{
			ID:    "official.prompts.embedded-resource",
			Says:  "test_prompt_with_embedded_resource requires resourceUri, and holds a resource of that URI",
			Level: spec.Must,
			In:    inContract,
			Spec:  "prompts-get-embedded-resource",
			Probe: func(t *check.T) { contractPromptResource(t, nil) },
		},
		{
			ID:    "official.prompts.image",
			Says:  "test_prompt_with_image shows a picture",
			Level: spec.Must,
			In:    inContract,
			Spec:  "prompts-get-with-image",
			Probe: func(t *check.T) { contractPromptImage(t, nil) },
		},
	}
}

// contractContents returns what a resource of the contract is read as: one
// part. It need not be listed.
func contractContents(t *check.T, uri string) gjson.Result {
	list := contractResult(t, "reading "+uri, t.Request("resources/read", check.Params{"uri": uri})).Get("contents")
	if n := len(list.Array()); n != 1 {
		t.Fail("one part in contents", contract.ShortJSON(list), "%s was read as %d parts, not 1", uri, n)
	}
	return list.Get("0")
}

func contractStaticText(t *check.T, s *scribe) {
	const uri = "test://static-text"
	mustRead(t, s, uri, contractContents(t, uri), uri, "text/plain", "This is the content of the static text resource.")
}

func contractStaticBinary(t *check.T, s *scribe) {
	const uri = "test://static-binary"
	part := contractContents(t, uri)
	contract.MustDeclare(t, "the uri of "+uri, part.Get("uri"), uri)
	mustShow(t, uri, part, "blob", "image/png", isPNG)
	s.text(t, "the mimeType of "+uri, part.Get("mimeType"), "image/png")
}

func contractTemplate(t *check.T, s *scribe) {
	const uri = "test://template/123/data"
	contractItem(t, offer.TemplatesList, "template", "test://template/{id}/data")
	part := contractContents(t, uri)
	mustHold(t, "the text of "+uri, part.Get("text"), "123")
	mustRead(t, s, uri, part, uri, "application/json", `{"id":"123","templateTest":true,"data":"Data for ID: 123"}`)
}

// longRest is how long the watched resource may stay as it is.
const longRest = 4 * time.Second

// contractMessages returns the messages of a prompt of the contract, all of the user.
func contractMessages(t *check.T, prompt string, args check.Params, types ...string) gjson.Result {
	params := check.Params{"name": prompt}
	if args != nil {
		params["arguments"] = args
	}
	list := contractResult(t, prompt, t.Request("prompts/get", params)).Get("messages")
	blocks := list.Get("#.content")
	mustHaveTypes(t, prompt, blocks, types...)
	for _, m := range list.Array() {
		contract.MustDeclare(t, "the role of a message of "+prompt, m.Get("role"), "user")
	}
	return blocks
}

// contractRequires asserts that a prompt is listed with these arguments, all required.
func contractRequires(t *check.T, prompt string, names ...string) {
	args := contractItem(t, offer.PromptsList, "prompt", prompt).Get("arguments")
	for _, name := range names {
		found := gjson.Result{}
		for _, a := range args.Array() {
			if a.Get("name").String() == name {
				found = a
			}
		}
		if !found.Get("required").Bool() {
			t.Mark(offer.Walked(t, offer.PromptsList).Last)
			t.Fail("an argument "+name+" that is required", contract.ShortJSON(args), "%s does not list %s as an argument that is required", prompt, name)
		}
	}
}

func contractSimplePrompt(t *check.T, s *scribe) {
	const prompt = "test_simple_prompt"
	contractItem(t, offer.PromptsList, "prompt", prompt)
	said := contractMessages(t, prompt, nil, "text").Get("0.text")
	contract.MustHaveText(t, "the text of "+prompt, said)
	s.text(t, "the text of "+prompt, said, "This is a simple prompt for testing.")
}

func contractPromptArguments(t *check.T, s *scribe) {
	const prompt = "test_prompt_with_arguments"
	contractRequires(t, prompt, "arg1", "arg2")
	said := contractMessages(t, prompt, check.Params{"arg1": "testValue1", "arg2": "testValue2"}, "text").Get("0.text")
	mustHold(t, "the text of "+prompt, said, "testValue1", "testValue2")
	s.text(t, "the text of "+prompt, said, "Prompt with arguments: arg1='testValue1', arg2='testValue2'")
}

func contractPromptResource(t *check.T, s *scribe) {
	const prompt, uri = "test_prompt_with_embedded_resource", "test://example-resource"
	contractRequires(t, prompt, "resourceUri")
	blocks := contractMessages(t, prompt, check.Params{"resourceUri": uri}, "resource", "text")
	contract.MustDeclare(t, "the uri of the resource in "+prompt, blocks.Get("0.resource.uri"), uri)
	mustRead(t, s, "the resource in "+prompt, blocks.Get("0.resource"), uri, "text/plain", "Embedded resource content for testing.")
	s.text(t, "the text of "+prompt, blocks.Get("1.text"), "Please process the embedded resource above.")
}

func contractPromptImage(t *check.T, s *scribe) {
	const prompt = "test_prompt_with_image"
	contractItem(t, offer.PromptsList, "prompt", prompt)
	blocks := contractMessages(t, prompt, nil, "image", "text")
	mustShow(t, prompt, blocks.Get("0"), "data", "image/png", isPNG)
	s.text(t, "the mimeType of the picture of "+prompt, blocks.Get("0.mimeType"), "image/png")
	s.text(t, "the text of "+prompt, blocks.Get("1.text"), "Please analyze the image above.")
}
