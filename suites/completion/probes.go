package completion

import (
	"slices"
	"strings"

	"github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// probes are the probes of server/utilities/completion. The shape of
// results is judged in every session.
func probes() []check.Check {
	context := check.Check{
		ID:    "completion.context",
		Says:  "a completion that is told what was filled in before is answered as one that is not",
		Level: spec.Must,
		In:    spec.Stateless,
		Rules: []string{"completion-context-accepted"},
		// contextAccepted repeats a completion that was answered, as if other arguments
		// of the same prompt or template had been filled in, with values that the server
		// itself proposed: it may refuse any other. Where there are none the context is
		// empty.
		Probe: func(t *check.T) {
			var best *usage.Completed
			var filledIn map[string]string
			for _, c := range completedAll(t) {
				if c.Err != nil || c.Answer.Message.Kind != wire.Result || len(c.Filled) > 0 {
					continue
				}
				if others := usage.Fillings(t).ProposedBeside(c); best == nil || len(others) > len(filledIn) {
					best, filledIn = &c, others
				}
			}
			if best == nil {
				t.NotObserved("no completion of what is listed was answered with a result", "")
			}
			params := best.Params(t)
			params["context"] = check.Params{"arguments": filledIn}
			m := t.Request("completion/complete", params)
			gomega.NewWithT(t).Expect(m).To(match.BeResult(), "%q of %s, with a context", best.Name, describe(best.Of))
		},
	}
	advised := context
	advised.ID, advised.Level, advised.In = "completion.context.advised", spec.Should, spec.Between(spec.V2025_06_18, spec.V2025_11_25)
	declared := spec.Since(spec.V2025_03_26)
	return []check.Check{
		{
			ID:    "completion.capability.declared",
			Says:  "a server that completes arguments declares the capability completions",
			Level: spec.Must,
			In:    declared,
			Rules: []string{"completion-capability-declared"},
			// completionDeclared takes a value for what shows that the server completes.
			Probe: func(t *check.T) {
				if !t.Capabilities().IsObject() {
					t.NotObserved("the server's opening holds no capabilities object", "")
				}
				if t.Declares("completions") {
					if !slices.ContainsFunc(completedAll(t), func(c usage.Completed) bool { return len(c.Values()) > 0 }) {
						t.NotObserved("completions is declared, and nothing that is listed has a completion", "")
					}
					return
				}
				if m := undeclaredCompletion(t); suggestions(m) > 0 {
					t.Fail("the capability completions", m.Summary(), "an argument is completed, but the server does not declare the capability completions")
				}
				t.NotApplicable("the server has no completions")
			},
		},
		{
			ID:    "completion.unsupported",
			Says:  "without the capability completions, completion/complete is answered with error -32601",
			Level: spec.Should,
			In:    declared,
			Rules: []string{"completion-unsupported-code"},
			// completionUnsupported leaves a completion with values to completionDeclared.
			Probe: func(t *check.T) {
				if !t.Capabilities().IsObject() {
					t.NotObserved("the server's opening holds no capabilities object", "")
				}
				if t.Declares("completions") {
					t.NotApplicable("the server has completions")
				}
				m := undeclaredCompletion(t)
				if suggestions(m) > 0 {
					t.NotObserved("the server completes arguments without declaring it", "")
				}
				gomega.NewWithT(t).Expect(m).To(match.BeError(spec.MethodNotFound), "completion/complete, which is not declared")
			},
		},
		{
			ID:    "completion.refs",
			Says:  "arguments of prompts and variables of resource templates are completed, or refused for what they are",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"completion-both-ref-types-served"},
			// bothRefsServed judges what is listed and named as it is listed: that there is
			// no method for it is no answer, since the server declares one. Where there is
			// none for anything, discover.capabilities tells.
			Probe: func(t *check.T) {
				seen := false
				if t.Facts.Stateless && !slices.ContainsFunc(completedAll(t), func(c usage.Completed) bool { code, _ := c.Answer.Message.Code(); return code != spec.MethodNotFound }) {
					t.NotObserved("completion/complete is not known", "")
				}
				for _, c := range completedAll(t) {
					m := c.Answer.Message
					if code, _ := m.Code(); c.Err == nil && code == spec.MethodNotFound {
						t.Mark(c.Answer)
						t.Fail("a completion", m.Summary(), "%q of %s was answered with %s", wire.Clip(c.Name, 80), wire.Clip(describe(c.Of), 120), m.Summary())
					}
					seen = seen || m.Kind == wire.Result
				}
				if !seen {
					t.NotObserved("no completion of what is listed was answered with a result", "")
				}
			},
		},
		{
			ID:    "completion.relevance",
			Says:  "the value that was typed comes first among the values of a completion",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"completion-sorted-by-relevance"},
			// completionRelevance types the last value that was offered. How others rank is
			// the server's own choice, but nothing is more relevant than what was typed.
			Probe: func(t *check.T) {
				for _, c := range completedAll(t) {
					values := c.Values()
					if len(values) < 2 || slices.Contains(values[:len(values)-1], values[len(values)-1]) {
						continue
					}
					typed := values[len(values)-1]
					params := c.Params(t)
					params["argument"] = check.Params{"name": c.Name, "value": typed}
					m := t.Request("completion/complete", params)
					again := usage.Completed{Answer: wire.Entry{Message: m}}.Values()
					switch at := slices.Index(again, typed); {
					case at > 0:
						t.Fail(typed+" first", strings.Join(again[:at+1], ", "), "%q of %s was completed from %q, which comes as number %d", c.Name, describe(c.Of), wire.Clip(typed, 80), at+1)
					case at == 0 && len(again) > 0:
						return
					}
				}
				t.NotObserved("no completion that is listed offers two values, and the one that is typed", "complete an argument of a prompt with several values")
			},
		},
		context,
		advised,
		{
			ID:    "completion.ref.unknown",
			Says:  "a completion for a prompt that does not exist is answered with error -32602",
			Level: spec.Should,
			In:    declared,
			Needs: "completions",
			Rules: []string{"completion-invalid-prompt-code"},
			Probe: func(t *check.T) {
				gomega.NewWithT(t).Expect(completeKnown(t, usage.CompletionParams(offer.UnknownPrompt))).To(match.BeError(spec.InvalidParams), "a completion for a prompt that does not exist")
			},
		},
		{
			ID:       "completion.argument.missing",
			Says:     "a completion without argument is answered with error -32602",
			Level:    spec.Should,
			In:       spec.Since(spec.V2025_03_26),
			Needs:    "completions",
			Malforms: true,
			Rules:    []string{"completion-missing-arguments-code"},
			// completionArgumentMissing leaves it to jsonrpc.params.invalid that there is
			// an error where all params are missing.
			Probe: func(t *check.T) {
				ref := check.Params{"type": "ref/prompt", "name": offer.UnknownPrompt}
				if blanks := slices.Concat(usage.PromptBlanks(t), usage.TemplateBlanks(t)); len(blanks) > 0 {
					ref = blanks[0].Ref
				}
				gomega.NewWithT(t).Expect(completeKnown(t, check.Params{"ref": ref})).To(match.BeError(spec.InvalidParams), "a completion without argument")
			},
		},
		{
			ID:       "completion.inputs.survived",
			Says:     "completions with inputs of wrong types or of great length are answered, and the server goes on",
			Level:    spec.Must,
			In:       spec.Every,
			Malforms: true,
			Rules:    []string{"completion-validate-inputs"},
			// completionInputsSurvived leaves the shape of a result to the judges.
			Probe: func(t *check.T) {
				for _, c := range misfillings(t) {
					if c.err != nil && posting.StatusBlamingClient(c.err) == 0 {
						t.Fail("an answer", "none", "a completion %s: %v", c.what, c.err)
					}
				}
				t.Survives("completions with unusual inputs")
			},
		},
		{
			ID:       "completion.inputs.refused",
			Says:     "a completion for a reference of an unknown type, or of what is no text, is refused",
			Level:    spec.Should,
			In:       spec.Every,
			Malforms: true,
			Rules:    []string{"completion-validate-inputs-server"},
			Probe: func(t *check.T) {
				seen := false
				for _, c := range misfillings(t) {
					if c.invalid && posting.StatusBlamingClient(c.err) != 0 {
						seen = true
						continue
					}
					if c.err != nil || !c.invalid {
						continue
					}
					t.Mark(c.answer)
					gomega.NewWithT(t).Expect(c.answer.Message).To(match.BeError(), "a completion "+c.what)
					seen = true
				}
				if !seen {
					t.NotObserved("completions with invalid inputs were not answered", "")
				}
			},
		},
	}
}

// completed returns what came of completions, and ends the body if the server
// has none.
func completedAll(t *check.T) []usage.Completed {
	if !usage.HasCompletion(t) {
		t.NotApplicable("the server does not declare completions")
	}
	all := usage.Fillings(t).Completions
	if len(all) == 1 && !t.Facts.CompletionCapability {
		if code, _ := all[0].Answer.Message.Code(); code == spec.MethodNotFound {
			t.NotApplicable("the server has no completions")
		}
	}
	if len(all) == 0 {
		t.NotObserved("no prompt has arguments and no resource template has variables", "list a prompt with arguments")
	}
	return all
}

var undeclaredCompletionKey = check.NewKey[wire.Message]("undeclared completion")

// undeclaredCompletion asks a server that declares no completions for one, of
// something that it lists if there is anything.
func undeclaredCompletion(t *check.T) wire.Message {
	return check.Once(t, undeclaredCompletionKey, func() wire.Message {
		params := usage.CompletionParams(offer.UnknownPrompt)
		if blanks := slices.Concat(usage.PromptBlanks(t), usage.TemplateBlanks(t)); len(blanks) > 0 {
			params = usage.Completed{Of: blanks[0], Name: blanks[0].Names[0]}.Params(t)
		}
		return t.Request("completion/complete", params)
	})
}

func suggestions(m wire.Message) int { return len(m.Result().Get("completion.values").Array()) }

func describe(b *usage.Blank) string {
	if b.Uris != nil {
		return "the template " + b.Entry.Get("uriTemplate").Str
	}
	return "the prompt " + b.Entry.Get("name").Str
}

// completeKnown ends the body if there is no such method: that it was declared
// is what is wrong then.
func completeKnown(t *check.T, params check.Params) wire.Message {
	m := t.Request("completion/complete", params)
	if code, _ := m.Code(); code == spec.MethodNotFound {
		t.NotObserved("completion/complete is not known", "")
	}
	return m
}

// A misfilled completion is one with inputs that no client should send.
type misfilled struct {
	what    string
	invalid bool // breaks the schema
	answer  wire.Entry
	err     error
}

var misfillingsKey = check.NewKey[[]misfilled]("misfillings")

// misfillings asks up to the first that is not answered.
func misfillings(t *check.T) []misfilled {
	all := completedAll(t)
	return check.Once(t, misfillingsKey, func() []misfilled {
		of, name := all[0].Of, all[0].Name
		argument := func(value any) check.Params { return check.Params{"name": name, "value": value} }
		var out []misfilled
		for _, one := range []struct {
			what    string
			invalid bool
			params  check.Params
		}{
			{"for a reference of the type ref/mcpcheck", true, check.Params{"ref": check.Params{"type": "ref/mcpcheck", "name": "mcpcheck"}, "argument": argument("")}},
			{"of a value that is an object", true, check.Params{"ref": of.Ref, "argument": argument(check.Params{"mcpcheck": []any{nil}})}},
			{"of 16,384 characters", false, check.Params{"ref": of.Ref, "argument": argument(strings.Repeat("mcpcheck", 2048))}},
		} {
			e, err := t.Try("completion/complete", one.params).Get()
			out = append(out, misfilled{one.what, one.invalid, e, err})
			if err != nil && posting.StatusBlamingClient(err) == 0 {
				break
			}
		}
		return out
	})
}
