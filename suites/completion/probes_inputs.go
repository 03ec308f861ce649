package completion

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// inputProbes returns the probes of completions with wrong inputs.
func inputProbes() []check.Check {
	return []check.Check{
		{
			ID:    "completion.ref.unknown",
			Says:  "the server answers a completion for a prompt that does not exist with error -32602",
			Level: spec.Should,
			In:    sinceDeclared,
			Needs: "completions",
			Rules: []string{"completion-invalid-prompt-code"},
			Idle:  methodUnknown,
			Hint:  "answer completion/complete, or do not declare completions",
			Probe: func(t *check.T) {
				m := t.Request("completion/complete", usage.CompletionParams(offer.UnknownPrompt))
				if isMethodUnknown(m) {
					return // the capability should not have been declared then
				}
				match.Expect(t, m).To(match.BeError(spec.InvalidParams),
					"a completion for a prompt that does not exist")
				t.Saw()
			},
		},
		{
			ID:       "completion.argument.missing",
			Says:     "the server answers a completion without argument with error -32602",
			Level:    spec.Should,
			In:       sinceDeclared,
			Needs:    "completions",
			Malforms: true,
			Rules:    []string{"completion-missing-arguments-code"},
			Idle:     methodUnknown,
			Hint:     "answer completion/complete, or do not declare completions",
			// jsonrpc.params.invalid judges requests of all methods without any params.
			Probe: func(t *check.T) {
				ref := check.Params{"type": "ref/prompt", "name": offer.UnknownPrompt}
				all := slices.Concat(usage.CompletablePrompts(t), usage.CompletableTemplates(t))
				if len(all) > 0 {
					ref = all[0].Ref
				}
				m := t.Request("completion/complete", check.Params{"ref": ref})
				if isMethodUnknown(m) {
					return // the capability should not have been declared then
				}
				match.Expect(t, m).To(match.BeError(spec.InvalidParams), "a completion without argument")
				t.Saw()
			},
		},
		{
			ID:       "completion.inputs.survived",
			Says:     "the server answers completions with inputs of wrong types or of great length, and goes on",
			Level:    spec.Must,
			In:       spec.Every,
			Malforms: true,
			Rules:    []string{"completion-validate-inputs"},
			Idle:     "no completion with unusual inputs was sent",
			Hint:     "declare completions, and list a prompt with arguments or a resource template with variables",
			// Judges judge the shape of a result.
			Probe: func(t *check.T) {
				for _, c := range unusualInputs(t) {
					if c.reply.Err != nil && posting.ClientErrorStatus(c.reply.Err) == 0 {
						t.Fail("an answer", "none", "a completion %s: %v", c.what, c.reply.Err)
					}
					t.Saw()
				}
				t.Survives("completions with unusual inputs")
			},
		},
		{
			ID:       "completion.inputs.refused",
			Says:     "the server refuses a completion with an unknown type of reference or a value that is no string",
			Level:    spec.Should,
			In:       spec.Every,
			Malforms: true,
			Rules:    []string{"completion-validate-inputs-server"},
			Idle:     "no completion with an invalid input was answered",
			Hint:     "declare completions, and list a prompt with arguments or a resource template with variables",
			// Over HTTP a status may refuse it without a message.
			Probe: func(t *check.T) {
				for _, c := range unusualInputs(t) {
					refused := posting.ClientErrorStatus(c.reply.Err) != 0
					if !c.invalid || c.reply.Err != nil && !refused {
						continue
					}
					if !refused {
						t.Mark(c.reply.Entry)
						match.Expect(t, c.reply).To(match.BeError(), "a completion %s", c.what)
					}
					t.Saw()
				}
			},
		},
	}
}

// An unusualInput is a completion with an input that no client should send, and its
// answer.
type unusualInput struct {
	what    string
	invalid bool // breaks the schema
	params  check.Params
	reply   check.Reply
}

var unusualInputsKey = check.NewKey[[]unusualInput]("completions with unusual inputs")

// unusualInputs requests completions with unusual inputs. It stops at the first
// request without an answer.
func unusualInputs(t *check.T) []unusualInput {
	all := completed(t)
	return check.Once(t, unusualInputsKey, func() []unusualInput {
		var out []unusualInput
		for _, c := range unusualInputsOf(all[0].Of.Ref, all[0].Name) {
			c.reply = t.Try("completion/complete", c.params)
			out = append(out, c)
			if c.reply.Err != nil && posting.ClientErrorStatus(c.reply.Err) == 0 {
				break
			}
		}
		return out
	})
}

// unusualInputsOf returns completions with unusual inputs for an argument of a prompt
// or template.
func unusualInputsOf(ref check.Params, name string) []unusualInput {
	argument := func(value any) check.Params { return check.Params{"name": name, "value": value} }
	return []unusualInput{
		{
			what:    "for a reference of the type ref/mcpcheck",
			invalid: true,
			params: check.Params{
				"ref":      check.Params{"type": "ref/mcpcheck", "name": "mcpcheck"},
				"argument": argument(""),
			},
		},
		{
			what:    "of a value that is an object",
			invalid: true,
			params:  check.Params{"ref": ref, "argument": argument(check.Params{"mcpcheck": []any{nil}})},
		},
		{
			what:   "of 16,384 characters",
			params: check.Params{"ref": ref, "argument": argument(strings.Repeat("mcpcheck", 2048))},
		},
	}
}
