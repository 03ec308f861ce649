package official

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
)

// officialDocumented is the check of all that the contract documents and its
// suite does not ask for: wording, URIs and media types. Servers that pass the
// suite are known to differ there, so that it warns, and once.
func officialDocumented() []check.Check {
	return []check.Check{{
		ID:    "official.documented",
		Says:  "the texts, URIs and media types of the contract are those that it documents",
		Level: spec.Should,
		In:    inContract,
		Spec:  "tools-call-simple-text",
		// contractDocumented passes over fixtures that are missing or broken: each has
		// a check of its own.
		Probe: func(t *check.T) {
			s := &scribe{}
			for _, f := range worded() {
				if f.in.Has(t.Rev) {
					check.Attempt(t, func(t *check.T) { f.use(t, s) })
				}
			}
			if s.seen == 0 {
				t.NotObserved("none of the fixtures with documented values is offered", "")
			}
			if len(s.wrong) == 0 {
				return
			}
			first, sentence := s.wrong[0], func(d deviation) string { return fmt.Sprintf("%s is %s; documented is %s", d.what, d.got, d.want) }
			for _, d := range s.wrong[1:] {
				t.Note("%s", sentence(d))
			}
			t.Mark(first.frame)
			t.Fail(first.want, first.got, "%s", sentence(first))
		},
	}}
}

// worded are the fixtures with documented values, and the revisions of each.
func worded() []fixture {
	return []fixture{
		{inContract, contractSimpleText}, {inContract, contractImage}, {inContract, contractEmbedded}, {inContract, contractMixed}, {inContract, contractError},
		{inSessions, contractSampling}, {inSessions, contractElicitation}, {in2025_11, contractDefaults}, {in2025_11, contractEnums},
		{inContract, contractStaticText}, {inContract, contractStaticBinary}, {inContract, contractTemplate},
		{inContract, contractSimplePrompt}, {inContract, contractPromptArguments}, {inContract, contractPromptResource}, {inContract, contractPromptImage},
		{spec.Stateless, contractRoundElicitation},
		{spec.Stateless, contractGreet}, {spec.Stateless, contractTaskUnknown},
		{spec.Stateless, contractTaskCancelled}, {spec.Stateless, contractTaskAsks},
	}
}

// A fixture uses one thing of the contract. Where a scribe is given, it is told
// the documented values; what the suite asks for is asserted all the same.
type fixture struct {
	in  spec.Set
	use func(t *check.T, s *scribe)
}

// A scribe notes values that are not as documented. The nil scribe notes
// nothing.
type scribe struct {
	seen  int
	wrong []deviation
}

type deviation struct {
	what, want, got string
	frame           wire.Entry
}

// text tells a string that is documented.
func (s *scribe) text(t *check.T, what string, got gjson.Result, want string) {
	s.value(t, what, got, contract.AsJSON(want))
}

// value tells a value that is documented, as JSON.
func (s *scribe) value(t *check.T, what string, got gjson.Result, want string) {
	s.note(t, what, contract.EqualJSON(got.Raw, want), got, want)
}

// holding tells a text that documentedly holds others.
func (s *scribe) holding(t *check.T, what string, got gjson.Result, parts ...string) {
	for _, part := range parts {
		s.note(t, what, holdsText(got, part), got, "a text with "+contract.AsJSON(part))
	}
}

func (s *scribe) note(t *check.T, what string, right bool, got gjson.Result, want string) {
	if s == nil {
		return
	}
	if s.seen++; right {
		return
	}
	d := deviation{what: what, want: want, got: contract.ShortJSON(got)}
	if at := t.Marked(); at >= 0 {
		if frames := t.Frames(at); len(frames) > 0 {
			d.frame = frames[0]
		}
	}
	s.wrong = append(s.wrong, d)
}
