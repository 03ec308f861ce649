package prompts

import (
	"github.com/onsi/gomega"
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// probes are the probes of server/prompts. The shape of what is listed and
// got is judged in every session.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "prompts.capability.declared",
			Says:  "a server that lists prompts declares the capability prompts",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-capability-declared"},
			Probe: func(t *check.T) { expect.OfferedIsDeclared(t, offer.PromptsList) },
		},
		{
			ID:    "prompts.list.answered",
			Says:  "prompts/list is answered with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "prompts",
			Rules: []string{"prompts-list-answered"},
			Probe: func(t *check.T) { expect.ListAnswered(t, offer.PromptsList) },
		},
		{
			ID:    "prompts.list.everywhere",
			Says:  "the same prompts are listed on every connection, whatever else was asked there",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "prompts",
			Rules: []string{"prompts-list-not-per-connection"},
			Probe: func(t *check.T) { expect.ListedEverywhere(t, offer.PromptsList) },
		},
		{
			ID:    "prompts.get.unknown",
			Says:  "getting a prompt that does not exist is answered with error -32602",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "prompts",
			Rules: []string{"prompts-invalid-name-code"},
			Probe: func(t *check.T) {
				gomega.NewWithT(t).Expect(t.Request("prompts/get", check.Params{"name": offer.UnknownPrompt})).To(match.BeError(spec.InvalidParams), "getting a prompt that does not exist")
			},
		},
		{
			ID:    "prompts.get.arguments.missing",
			Says:  "getting a prompt without its required arguments is answered with error -32602",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "prompts",
			Rules: []string{"prompts-missing-arguments-code"},
			// promptArgumentsMissing lets pass a result that asks for what is missing
			// (since 2026-07-28).
			Probe: func(t *check.T) {
				const most = 4
				n := 0
				for _, p := range usage.Entries(t, offer.PromptsList) {
					if !usage.RequiresArguments(p) || n == most {
						continue
					}
					n++
					m := t.Request("prompts/get", check.Params{"name": p.Get("name").Str})
					if m.Kind == wire.Result && !check.IsComplete(t, m) {
						continue
					}
					gomega.NewWithT(t).Expect(m).To(match.BeError(spec.InvalidParams), "getting the prompt %q without arguments", wire.Clip(p.Get("name").Str, 80))
				}
				if n == 0 {
					t.NotObserved("no prompt has a required argument", "list a prompt that requires an argument")
				}
			},
		},
		{
			ID:       "prompts.get.arguments.validated",
			Says:     "getting a prompt with an argument that is no string is refused",
			Level:    spec.Should,
			In:       spec.Every,
			Needs:    "prompts",
			Malforms: true,
			Rules:    []string{"prompts-validate-arguments"},
			// promptArgumentsValidated fills in one required argument with an object:
			// arguments are strings (schema.ts#GetPromptRequestParams), and no prompt can be
			// made of that.
			Probe: func(t *check.T) {
				for _, p := range usage.Fillings(t).Prompts {
					args := check.Params{}
					for name, value := range p.Values[0] {
						args[name] = value
					}
					wrong := ""
					for _, arg := range p.Entry.Get("arguments").Array() {
						if name := arg.Get("name"); arg.Get("required").Bool() && name.Type == gjson.String {
							wrong = name.Str
						}
					}
					if wrong == "" {
						continue
					}
					args[wrong] = check.Params{"mcpcheck": []any{nil}}
					if m := t.Request("prompts/get", check.Params{"name": p.Entry.Get("name").Str, "arguments": args}); m.Kind == wire.Result && check.IsComplete(t, m) {
						t.Fail("an error", m.Summary(), "prompt %q was got with an object for its argument %q", wire.Clip(p.Entry.Get("name").Str, 80), wire.Clip(wrong, 80))
					}
					return
				}
				t.NotObserved("no prompt has a required argument", "list a prompt that requires an argument")
			},
		},
	}
}
