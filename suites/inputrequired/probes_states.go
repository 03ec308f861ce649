package inputrequired

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// stateProbes returns the probes of how a server treats a requestState that it
// receives.
func stateProbes() []check.Check {
	return []check.Check{
		{
			ID:    "input-required.state.survived",
			Says:  "the server answers a retry with an invalid requestState, and goes on",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-request-state-untrusted"},
			Idle:  "no request was retried with an invalid requestState",
			Hint:  asking.HintState,
			// A refusal by HTTP alone is an answer: the server may limit the length of a state.
			Probe: func(t *check.T) {
				for r, state := range asking.RoundsWithState(t, 2) {
					for _, invalid := range invalidStates(state) {
						_, err := r.TryState(t, invalid.value)
						if status := posting.RefusalStatus(err); status != 0 {
							t.Note("a requestState of %s was refused by HTTP alone, with status %d", invalid.what,
								status)
						} else if err != nil {
							t.Fail("an answer to "+r.Method, err.Error(),
								"%s was retried with a requestState of %s: %v", r, invalid.what, err)
						}
						t.Saw()
					}
				}
				t.Survives("an invalid requestState")
			},
		},
		{
			ID:    "input-required.state.tampered",
			Says:  "the server returns no other result for a requestState that was altered",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-request-state-tamper-rejected"},
			Idle:  "the server refused no requestState that was altered, and none changed a result",
			Hint:  "refuse a requestState that was altered",
			// Each value that can be read in a requestState is altered by itself, and one
			// letter of a state that cannot be read. A state that may be altered without effect
			// needs no protection (basic/patterns/mrtr#server-requirements-basic-workflow): only
			// a result that changes with it breaks the rule. A refusal is due to the state only
			// if the unaltered request succeeds after it.
			Probe: func(t *check.T) {
				for r, state := range asking.RoundsWithState(t, asking.MaxTriggers) {
					r, state = r.AnswerOne(t, state)
					usual, ok := r.StableResult(t)
					if !ok {
						continue
					}
					refused := false
					for _, forged := range append(asking.ChangeValues(state), asking.ChangeMiddle(state)...) {
						m := r.RetryWithState(t, forged.State)
						at := t.Marked()
						switch got := asking.VisibleContent(m); {
						case !check.Succeeded(t, m):
							refused = true
						case got != usual && r.ResultFollowsState(t, forged.State, got, usual):
							t.Mark(check.FrameAt(t, at))
							t.Fail("an error, or another input_required result", m.Summary(),
								"%s was retried with %s in its requestState, and its result changed with it: %s",
								r, forged.What, wire.Clip(got, 120))
						}
					}
					if refused {
						sawIfSucceeds(t, r)
					}
				}
			},
		},
		{
			ID:    "input-required.state.bound",
			Says:  "the server does not accept the requestState of one request for another",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-request-state-bound-request"},
			Idle:  "no two requests that succeed have a requestState of their own that is protected",
			Hint:  "offer two read-only tools that return a protected requestState",
			// The requestState of the first request is sent with others, and with the same tool
			// with other arguments. The binding is part of the protection of a state
			// (basic/patterns/mrtr#server-requirements-basic-workflow): a state that needs no
			// protection, such as one that is always the same, need not be bound either.
			Probe: func(t *check.T) {
				var first *asking.Round
				for r := range asking.RoundsWithState(t, asking.MaxTriggers) {
					if first == nil {
						first = &r
						continue
					}
					expectStateBound(t, r, *first)
				}
				for _, other := range first.Variants(t) {
					if r, ok := other.StartRound(t); ok && r.Interim.Get("requestState").Exists() {
						expectStateBound(t, r, *first)
					}
				}
			},
		},
	}
}

// expectStateBound retries a request with the requestState of another one. A success
// breaks the rule if the own state of the request is protected.
func expectStateBound(t *check.T, r, other asking.Round) {
	own, foreign := r.Interim.Get("requestState").String(), other.Interim.Get("requestState").String()
	if _, ok := r.RetryUnchanged(t); !ok || own == foreign {
		return
	}
	m := r.RetryWithState(t, foreign)
	at := t.Marked()
	switch {
	case !check.Succeeded(t, m):
		sawIfSucceeds(t, r)
	case r.IsStateProtected(t, own):
		t.Mark(check.FrameAt(t, at))
		t.Fail("an error, or another input_required result", m.Summary(),
			"%s with %s was retried with the requestState of %s with %s, and succeeded",
			r, wire.Clip(string(check.MustJSON(r.Params)), 80), other.Trigger,
			wire.Clip(string(check.MustJSON(other.Params)), 80))
	}
}

// sawIfSucceeds records evidence if the retry with its own requestState succeeds:
// what was refused before was refused for its state.
func sawIfSucceeds(t *check.T, r asking.Round) {
	if _, ok := r.RetryUnchanged(t); ok {
		t.Saw()
	}
}

// An invalidState is a value of a requestState that the server did not return.
type invalidState struct{ what, value string }

// invalidStates returns values that no server returns, and the half of a state.
func invalidStates(state string) []invalidState {
	return []invalidState{
		{"a word", "mcpcheck"},
		{"nothing", ""},
		{"the half of its own", state[:len(state)/2]},
		{"20,000 letters", strings.Repeat("m", 20_000)},
		{"JSON", `{"mcpcheck":[null]}`},
		{"what looks like a token", "bWNwY2hlY2s.bWNwY2hlY2s.bWNwY2hlY2s"},
	}
}
