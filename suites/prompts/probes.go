package prompts

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// Why the probes of arguments are not observed, and what helps.
const (
	noRequiredArgument    = "no prompt has a required argument that the server does not ask the client for"
	offerRequiredArgument = "list a prompt that requires an argument"
)

// probes returns the probes of server/prompts. Judges judge the shape of the lists
// and the prompts of every session.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "prompts.capability.declared",
			Says:  "a server that lists prompts declares the capability prompts",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"prompts-capability-declared"},
			Idle:  noList,
			Hint:  "offer prompts, and answer prompts/list",
			Probe: func(t *check.T) { expect.OfferedIsDeclared(t, offer.PromptsList) },
		},
		{
			ID:    "prompts.list.answered",
			Says:  "the server answers prompts/list with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "prompts",
			Rules: []string{"prompts-list-answered"},
			Idle:  noList,
			Hint:  "offer prompts, and answer prompts/list",
			Probe: func(t *check.T) { expect.ListAnswered(t, offer.PromptsList) },
		},
		{
			ID:    "prompts.list.everywhere",
			Says:  "the server lists the same prompts on every connection, whatever other requests it received there",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "prompts",
			Rules: []string{"prompts-list-not-per-connection"},
			Idle:  noList,
			Hint:  "offer prompts, and answer prompts/list",
			Probe: func(t *check.T) { expect.ListedEverywhere(t, offer.PromptsList) },
		},
		{
			ID:    "prompts.list.succeeds",
			Says:  "prompts/list does not fail on a server that declares prompts: clients begin with it",
			Level: spec.Robust,
			In:    spec.Handshake, // since 2026-07-28 prompts.list.answered judges it
			Needs: "prompts",
			Spec:  "server/prompts#listing-prompts",
			Idle:  noList,
			Hint:  "offer prompts, and answer prompts/list",
			Probe: func(t *check.T) { expect.ListSucceeds(t, offer.PromptsList) },
		},
		{
			ID:    "prompts.listed.answered",
			Says:  "a listed prompt that requires no argument can be got: users choose it from the list",
			Level: spec.Robust,
			In:    spec.Every,
			Needs: "prompts",
			Spec:  "server/prompts#getting-a-prompt",
			Idle:  "no listed prompt that requires no argument was requested",
			Hint:  "list a prompt that requires no argument",
			// Some errors ask the client for more. Any other is confirmed by a second
			// request, if the prompt is still listed. jsonrpc.failure.prompts-get judges a code
			// that nobody reserves, and prompts.arguments a list of arguments that is unclear.
			Probe: func(t *check.T) {
				for _, u := range usage.UseOffer(t).Prompts {
					code, isError := u.Answer.Message.ErrorCode()
					switch {
					case u.Err != nil || u.Params["arguments"] != nil || !hasClearArguments(u.Entry) ||
						code == spec.MissingClientCapability || code == spec.LegacyURLElicitationError ||
						isError && (code < -32768 || code > -32000) || expect.IsRefusedByHTTP(u.Answer),
						isError && !t.Facts.Stateless && t.HTTP().URL() != nil && t.HTTP().SessionID() == "":
						continue // without a session the server cannot ask its client
					case u.Answer.Message.Kind == wire.Result:
						t.Saw()
						continue
					case t.Try("prompts/get", check.Merge(u.Params, noArguments)).Succeeded():
						continue // prompts.get.arguments.optional judges it
					}
					name := u.Entry.Get("name").Str
					if !slices.Contains(offer.PromptsList.Names(offer.WalkNow(t, offer.PromptsList).Items()), name) {
						continue
					}
					if r := t.Try("prompts/get", u.Params); r.Err == nil {
						match.Expect(t, r).To(match.BeResult(), "prompts/get for the listed prompt %q",
							wire.Clip(name, 80))
					}
				}
			},
		},
		{
			ID:    "prompts.get.unknown",
			Says:  "the server answers prompts/get for a prompt that does not exist with error -32602",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "prompts",
			Rules: []string{"prompts-invalid-name-code"},
			Idle:  "no prompt that does not exist was requested",
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				m := t.Request("prompts/get", check.Params{"name": offer.UnknownPrompt})
				match.Expect(t, m).To(match.BeError(spec.InvalidParams), "prompts/get for a prompt that does not exist")
				t.Saw()
			},
		},
		{
			ID:    "prompts.get.arguments.missing",
			Says:  "the server answers prompts/get without the required arguments with error -32602",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "prompts",
			Rules: []string{"prompts-missing-arguments-code"},
			Idle:  noRequiredArgument,
			Hint:  offerRequiredArgument,
			// A result may ask for what is missing (basic/patterns/mrtr, since 2026-07-28).
			Probe: func(t *check.T) {
				const most = 4
				requested := 0
				for _, p := range usage.Entries(t, offer.PromptsList) {
					if !usage.RequiresArguments(p) || requested == most {
						continue
					}
					requested++
					name := p.Get("name").Str
					m := t.Request("prompts/get", check.Params{"name": name})
					if m.Kind == wire.Result && !check.IsComplete(t, m) {
						continue
					}
					match.Expect(t, m).To(match.BeError(spec.InvalidParams),
						"prompts/get for the prompt %q without its arguments", wire.Clip(name, 80))
					t.Saw()
				}
			},
		},
		{
			ID:    "prompts.get.arguments.optional",
			Says:  "a prompt that requires no argument is returned alike without arguments and with empty ones",
			Level: spec.Robust,
			In:    spec.Every,
			Needs: "prompts",
			Spec:  "server/prompts#getting-a-prompt",
			Idle:  "no prompt that requires no argument was returned",
			Hint:  "list a prompt that requires no argument",
			// Clients leave out what is optional, or not. A difference is confirmed by a second
			// pair of requests.
			Probe: func(t *check.T) {
				for _, u := range usage.UseOffer(t).Prompts {
					if u.Err != nil || u.Params["arguments"] != nil {
						continue
					}
					expect.ArgumentsOptional(t, "prompts/get", u.Entry.Get("name").Str)
				}
			},
		},
		{
			ID:       "prompts.get.arguments.validated",
			Says:     "the server refuses prompts/get with an argument that is not a string",
			Level:    spec.Should,
			In:       spec.Every,
			Needs:    "prompts",
			Malforms: true,
			Rules:    []string{"prompts-validate-arguments"},
			Idle:     noRequiredArgument,
			Hint:     offerRequiredArgument,
			// Arguments are strings (schema.ts#GetPromptRequestParams): an object in the
			// place of a required one gives no prompt. A result may ask for the argument
			// again (basic/patterns/mrtr, since 2026-07-28).
			Probe: func(t *check.T) {
				for _, p := range usage.SurveyCompletions(t).Prompts {
					required := lastRequiredArgument(p.Entry)
					if required == "" {
						continue
					}
					args := check.Params{}
					for name, value := range p.Values[0] {
						args[name] = value
					}
					args[required] = check.Params{"mcpcheck": []any{nil}}
					name := p.Entry.Get("name").Str
					m := t.Request("prompts/get", check.Params{"name": name, "arguments": args})
					if m.Kind == wire.Result && !check.IsComplete(t, m) {
						return
					}
					match.Expect(t, m).To(match.BeError(),
						"prompts/get for the prompt %q with an object as its argument %q",
						wire.Clip(name, 80), wire.Clip(required, 80))
					t.Saw()
					return
				}
			},
		},
	}
}

// hasClearArguments reports whether the arguments of a prompt, if there are any, say
// which of them are required.
func hasClearArguments(prompt gjson.Result) bool {
	arguments := prompt.Get("arguments")
	return !arguments.Exists() || arguments.IsArray() &&
		!slices.ContainsFunc(arguments.Array(), func(arg gjson.Result) bool {
			required := arg.Get("required")
			return required.Exists() && !required.IsBool()
		})
}

// noArguments holds the empty arguments of a prompt.
var noArguments = check.Params{"arguments": check.Params{}}

// lastRequiredArgument returns the name of the last required argument of a prompt; ""
// if there is none.
func lastRequiredArgument(prompt gjson.Result) (required string) {
	for _, arg := range prompt.Get("arguments").Array() {
		if name := arg.Get("name"); arg.Get("required").Bool() && name.Type == gjson.String {
			required = name.Str
		}
	}
	return required
}
