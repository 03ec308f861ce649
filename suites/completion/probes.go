package completion

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// The reasons why several checks are not observed, and what helps.
const (
	noResult      = "no completion of what the server lists was answered with a result"
	methodUnknown = "completion/complete is answered as an unknown method"
	offerValues   = "answer completion/complete with a value for an argument of a listed prompt"
)

// sinceDeclared are the revisions with the capability completions.
var sinceDeclared = spec.Since(spec.V2025_03_26)

// probes returns the probes of server/utilities/completion. Judges judge the shape
// of results.
func probes() []check.Check {
	return slices.Concat(capabilityProbes(), resultProbes(), inputProbes())
}

// capabilityProbes returns the probes of the capability completions.
func capabilityProbes() []check.Check {
	return []check.Check{
		{
			ID:    "completion.capability.declared",
			Says:  "a server that completes arguments declares the capability completions",
			Level: spec.Must,
			In:    sinceDeclared,
			Rules: []string{"completion-capability-declared"},
			Idle:  "completions is declared, and nothing that the server lists has a completion",
			Hint:  offerValues,
			// A completion with a value is what shows that the server completes arguments.
			Probe: func(t *check.T) {
				requireCapabilities(t)
				if t.Declares("completions") {
					if slices.ContainsFunc(completed(t), func(c usage.Completion) bool { return len(c.Values()) > 0 }) {
						t.Saw()
					}
					return
				}
				r := undeclaredCompletion(t)
				if r.Err != nil { // completion.unsupported judges that it is answered
					t.NotObserved("completion/complete was not answered: "+r.Err.Error(),
						"answer completion/complete, at least with an error")
				}
				if hasValues(r.Message) {
					t.Fail("the capability completions", r.Message.Summary(),
						"an argument is completed, but the server does not declare the capability completions")
				}
				t.NotApplicable("the server has no completions")
			},
		},
		{
			ID:    "completion.unsupported",
			Says:  "a server without the capability completions answers completion/complete with error -32601",
			Level: spec.Should,
			In:    sinceDeclared,
			Rules: []string{"completion-unsupported-code"},
			Idle:  "the server completes arguments without declaring it",
			Hint:  "declare completions, since the server completes arguments",
			// completion.capability.declared judges a completion that has values.
			Probe: func(t *check.T) {
				requireCapabilities(t)
				if t.Declares("completions") {
					t.NotApplicable("the server has completions")
				}
				m := t.RequireAnswer(undeclaredCompletion(t))
				if hasValues(m) {
					return
				}
				match.Expect(t, m).To(match.BeError(spec.MethodNotFound), "completion/complete, which is not declared")
				t.Saw()
			},
		},
	}
}

// resultProbes returns the probes of what the server proposes.
func resultProbes() []check.Check {
	return []check.Check{
		{
			ID:    "completion.refs",
			Says:  "the server knows completion/complete for each prompt and resource template that it lists",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"completion-both-ref-types-served"},
			Idle:  noResult,
			Hint:  offerValues,
			// Any other error may be right for one argument. discover.capabilities judges a
			// server that declares completions and does not know the method at all.
			Probe: func(t *check.T) {
				isKnown := func(c usage.Completion) bool { return !isMethodUnknown(c.Answer.Message) }
				if t.Facts.Stateless && !slices.ContainsFunc(completed(t), isKnown) {
					t.NotObserved(methodUnknown, "")
				}
				for _, c := range completed(t) {
					m := c.Answer.Message
					if c.Err == nil && isMethodUnknown(m) {
						t.Mark(c.Answer)
						t.Fail("a completion", m.Summary(), "%q of %s was answered with %s",
							wire.Clip(c.Name, 80), wire.Clip(describe(c.Of), 120), m.Summary())
					}
					if m.Kind == wire.Result {
						t.Saw()
					}
				}
			},
		},
		{
			ID: "completion.listed.answered",
			Says: "completing an argument of a listed prompt or template is no internal error, after which clients" +
				" propose nothing",
			Level: spec.Robust,
			In:    spec.Every,
			Spec:  "server/utilities/completion#error-handling",
			Idle:  noResult,
			Hint:  offerValues,
			// A server may refuse to complete an argument, and then returns another error
			// or no values. An internal error is confirmed by a second request.
			Probe: func(t *check.T) {
				for _, c := range completed(t) {
					code, _ := c.Answer.Message.ErrorCode()
					switch {
					case expect.IsRefusedByHTTP(c.Answer):
					case code == spec.InternalError:
						if r := t.Try("completion/complete", c.Params(t)); r.Err == nil {
							match.Expect(t, r).NotTo(match.BeError(spec.InternalError), "%q of %s, completed twice",
								wire.Clip(c.Name, 80), wire.Clip(describe(c.Of), 120))
						}
					case c.Answer.Message.Kind == wire.Result:
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "completion.relevance",
			Says:  "a completion lists the value that the client sent before other values",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"completion-sorted-by-relevance"},
			Idle:  "no completion offers two values and, for the last of them, that value again",
			Hint:  "answer a completion of the last proposed value with that value again",
			// The probe sends the last value of a completion. A server chooses how it ranks
			// the others, but no value is more relevant than the one that was sent.
			Probe: func(t *check.T) {
				for _, c := range completed(t) {
					values := c.Values()
					if len(values) < 2 || slices.Contains(values[:len(values)-1], values[len(values)-1]) {
						continue
					}
					sent := values[len(values)-1]
					params := c.Params(t)
					params["argument"] = check.Params{"name": c.Name, "value": sent}
					m := t.Request("completion/complete", params)
					again := usage.Completion{Answer: wire.Entry{Message: m}}.Values()
					switch at := slices.Index(again, sent); {
					case at > 0:
						t.Fail(sent+" first", strings.Join(again[:at+1], ", "),
							"%q of %s was completed from %q, which is value %d of the answer",
							c.Name, describe(c.Of), wire.Clip(sent, 80), at+1)
					case at == 0:
						t.Saw()
						return
					}
				}
			},
		},
		{
			ID:    "completion.context",
			Says:  "the server answers a completion with a context of other arguments with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"completion-context-accepted"},
			Idle:  noResult,
			Hint:  offerValues,
			Probe: func(t *check.T) { expectContextAccepted(t) },
		},
		{
			ID:    "completion.context.advised",
			Says:  "the server answers a completion with a context of other arguments with a result",
			Level: spec.Should,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"completion-context-accepted"},
			Idle:  noResult,
			Hint:  offerValues,
			Probe: func(t *check.T) { expectContextAccepted(t) },
		},
	}
}

// expectContextAccepted repeats a completion that was answered, with values for the
// other arguments of the same prompt or template. They are values that the server
// proposed: it may refuse any others. If there are none the context is empty.
func expectContextAccepted(t *check.T) {
	var best *usage.Completion
	var filledIn map[string]string
	for _, c := range completed(t) {
		if c.Err != nil || c.Answer.Message.Kind != wire.Result || len(c.Filled) > 0 {
			continue
		}
		if others := usage.SurveyCompletions(t).ProposedBeside(c); best == nil || len(others) > len(filledIn) {
			best, filledIn = &c, others
		}
	}
	if best == nil {
		return
	}
	params := best.Params(t)
	params["context"] = check.Params{"arguments": filledIn}
	m := t.Request("completion/complete", params)
	match.Expect(t, m).To(match.BeResult(), "%q of %s, with a context", best.Name, describe(best.Of))
	t.Saw()
}

// requireCapabilities ends the body if the server's opening has no capabilities.
func requireCapabilities(t *check.T) {
	if !t.Capabilities().IsObject() {
		t.NotObserved("the server's opening holds no capabilities object",
			"give an object capabilities in the result of the opening")
	}
}

// completed returns the completions of what the server lists. The body ends if there
// are none.
func completed(t *check.T) []usage.Completion {
	if !usage.HasCompletion(t) {
		t.NotApplicable("the server does not declare completions")
	}
	all := usage.SurveyCompletions(t).Completions
	if len(all) == 1 && !t.Facts.CompletionCapability && isMethodUnknown(all[0].Answer.Message) {
		t.NotApplicable("the server has no completions")
	}
	if len(all) == 0 {
		t.NotObserved("no prompt has arguments and no resource template has variables",
			"list a prompt with arguments, or a resource template with variables")
	}
	return all
}

var undeclaredCompletionKey = check.NewKey[check.Reply]("undeclared completion")

// undeclaredCompletion requests a completion of a server that declares none, for a
// prompt or template that it lists if there is one, and returns the answer.
func undeclaredCompletion(t *check.T) check.Reply {
	return check.Once(t, undeclaredCompletionKey, func() check.Reply {
		params := usage.CompletionParams(offer.UnknownPrompt)
		if blanks := slices.Concat(usage.CompletablePrompts(t), usage.CompletableTemplates(t)); len(blanks) > 0 {
			params = usage.Completion{Of: blanks[0], Name: blanks[0].Names[0]}.Params(t)
		}
		return t.Try("completion/complete", params)
	})
}

// hasValues reports whether a message is a completion with a value.
func hasValues(m wire.Message) bool { return len(m.Result().Get("completion.values").Array()) > 0 }

// isMethodUnknown reports whether a message is the error of an unknown method.
func isMethodUnknown(m wire.Message) bool {
	code, _ := m.ErrorCode()
	return code == spec.MethodNotFound
}

// describe names a prompt or a resource template in a detail.
func describe(b *usage.Completable) string {
	if b.URIs != nil {
		return "the template " + b.Entry.Get("uriTemplate").Str
	}
	return "the prompt " + b.Entry.Get("name").Str
}
