package selftest

import (
	"context"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A Variant is a way to run the reference without a fault, with what the checks
// reported of it.
type Variant struct {
	Over          transport.Kind
	Profile       string // the profile that it offers, and by which it is judged too
	Streams       bool   // it answers each request by a stream, and closes streams that last so that clients poll
	StatelessOnly bool   // it speaks only the stateless revision, for which some rules are
	Serial        bool   // one instance of it runs at a time
	Protected     bool   // it requires an access token
	Run           *reports.Run
	err           error
}

// variants returns the ways in which the reference is run without a fault.
func variants() []Variant {
	return []Variant{
		{Over: transport.Stdio},
		{Over: transport.Stdio, Serial: true},
		{Over: transport.Stdio, Serial: true, StatelessOnly: true},
		{Over: transport.HTTP, Profile: catalog.Official},
		{Over: transport.Stdio, Profile: catalog.Official},
		{Over: transport.HTTP},
		{Over: transport.HTTP, Streams: true},
		{Over: transport.HTTP, StatelessOnly: true},
		{Over: transport.HTTP, Protected: true},
		{Over: transport.SSE},
	}
}

func (v Variant) String() string {
	text := "the reference over " + string(v.Over)
	for _, property := range []struct {
		has  bool
		text string
	}{
		{v.Profile != "", " with the public contract"},
		{v.Streams, " with streams alone"},
		{v.StatelessOnly, " without handshake revisions"},
		{v.Serial, " one instance at a time"},
		{v.Protected, " with access tokens"},
	} {
		if property.has {
			text += property.text
		}
	}
	return text
}

// isProblem reports whether a verdict is none that the reference may have.
func isProblem(v reports.Verdict) bool {
	return v == reports.Fail || v == reports.Warn || v == reports.Broken || v == reports.NotRun
}

// isUnexpected reports whether a verdict differs from what is expected of the
// reference: it may have been late.
func (v *Variant) isUnexpected() bool {
	return slices.ContainsFunc(v.Run.Outcomes, v.isUnexpectedOutcome)
}

func (v *Variant) isUnexpectedOutcome(o reports.Outcome) bool {
	return isProblem(o.Verdict) || o.Verdict == reports.NotObserved && v.isSteady() &&
		!slices.Contains(unobserved, o.ID)
}

// isSteady reports whether what a run does not observe depends neither on time nor on
// the public contract.
func (v *Variant) isSteady() bool { return v.Profile == "" && !v.Streams }

// holdTime is how long the variant with streams alone keeps a stream open before
// clients poll: less than the shortest work takes that checks look at.
const holdTime = 60 * time.Millisecond

// run runs the checks of all revisions that the transport has, or those of them that are
// chosen.
func (v *Variant) run(ctx context.Context, isChosen func(check.Check) bool) {
	o, revisions := server.Options{}, spec.Revisions()
	if v.Profile != "" {
		o, revisions = server.Options{Official: true, StepDelay: pace}, spec.Since(spec.V2025_06_18).Revisions()
	}
	if v.Streams {
		o.HTTP = server.HTTP{PreferSSE: true, PollAfter: holdTime, Retry: pace}
	}
	if v.StatelessOnly {
		o.Revisions, revisions = spec.Stateless, spec.Stateless.Revisions()
	}
	deadlines := longDeadlines()
	deadlines.Serial = v.Serial
	s := subject{v.Over, v.Protected, o}
	checks := catalog.InProfile(v.Profile, serverChecks())
	if isChosen != nil {
		checks = slices.DeleteFunc(checks, func(c check.Check) bool { return !isChosen(c) })
	}
	v.Run, v.err = s.judge(ctx, engine.Options{
		Checks: checks, Revisions: revisions, Profile: v.Profile, Session: deadlines,
	})
}
