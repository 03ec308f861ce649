package official

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
)

// documentedProbes returns the check of the values that the contract documents and its
// suite does not assert: wording, URIs and media types. Some servers that pass the
// suite differ there, so that this is one check, which only warns.
func documentedProbes() []check.Check {
	return []check.Check{{
		ID:    "official.documented",
		Says:  "the texts, URIs and media types of the contract's fixtures are the documented ones",
		Level: spec.Should,
		In:    inContract,
		Spec:  "tools-call-simple-text",
		Idle:  "none of the fixtures with documented values is offered",
		Hint:  "offer the fixtures of the contract",
		// Fixtures that are missing or broken are passed over: each has a check of its own.
		Probe: func(t *check.T) {
			diff := &differences{}
			for _, f := range documentedFixtures() {
				if f.in.Has(t.Rev) {
					check.Attempt(t, func(t *check.T) { f.verify(t, diff) })
				}
			}
			if len(diff.found) > 0 {
				for _, d := range diff.found[1:] {
					t.Note("%s", d)
				}
				first := diff.found[0]
				t.Mark(first.frame)
				t.Fail(first.want, first.got, "%s", first)
			}
			if diff.compared > 0 {
				t.Saw()
			}
		},
	}}
}

// documentedFixtures returns the fixtures with documented values and their revisions.
func documentedFixtures() []fixture {
	return []fixture{
		{inContract, verifySimpleText}, {inContract, verifyImage}, {inContract, verifyEmbedded},
		{inContract, verifyMixed}, {inContract, verifyError},
		{inSessions, verifySampling}, {inSessions, verifyElicitation},
		{in2025_11, verifyDefaults}, {in2025_11, verifyEnums},
		{inContract, verifyStaticText}, {inContract, verifyStaticBinary}, {inContract, verifyTemplate},
		{inContract, verifySimplePrompt}, {inContract, verifyPromptArguments},
		{inContract, verifyPromptResource}, {inContract, verifyPromptImage},
		{spec.Stateless, verifyInputRequiredElicitation},
		{spec.Stateless, verifyGreet}, {spec.Stateless, verifyUnknownTask},
		{spec.Stateless, verifyCancelledTask}, {spec.Stateless, verifyTaskInput},
	}
}

// A fixture is a tool, resource or prompt of the contract. verify asserts what the suite
// asserts, and compares the documented values if differences are given.
type fixture struct {
	in     spec.Set
	verify func(t *check.T, diff *differences)
}

// The differences are the values that differ from the documented ones. A nil value
// compares nothing.
type differences struct {
	compared int
	found    []difference
}

// A difference is a value that is not as documented.
type difference struct {
	what, want, got string
	frame           wire.Entry
}

func (d difference) String() string {
	return fmt.Sprintf("%s is %s; documented is %s", d.what, d.got, d.want)
}

// compareText compares a value with a documented string.
func (diff *differences) compareText(t *check.T, what string, got gjson.Result, want string) {
	diff.compareJSON(t, what, got, contract.Quote(want))
}

// compareJSON compares a value with a documented one, given as JSON.
func (diff *differences) compareJSON(t *check.T, what string, got gjson.Result, want string) {
	diff.compare(t, what, contract.EqualJSON(got.Raw, want), got, want)
}

// compareParts compares a text with documented parts of it.
func (diff *differences) compareParts(t *check.T, what string, got gjson.Result, parts ...string) {
	for _, part := range parts {
		diff.compare(t, what, containsText(got, part), got, "a text with "+contract.Quote(part))
	}
}

// compare records a difference if a value is not equal to the documented one.
func (diff *differences) compare(t *check.T, what string, equal bool, got gjson.Result, want string) {
	if diff == nil {
		return
	}
	diff.compared++
	if equal {
		return
	}
	d := difference{what: what, want: want, got: contract.ShortJSON(got)}
	if at := t.Marked(); at >= 0 {
		d.frame = check.FrameAt(t, at)
	}
	diff.found = append(diff.found, d)
}
