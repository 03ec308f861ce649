package inputrequired

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// requestStates are the probes of what a server makes of the requestState that
// comes back to it.
func requestStates() []check.Check {
	return []check.Check{
		{
			ID:    "mrtr.state.survived",
			Says:  "a retry with a requestState that is none is answered, and the server lives",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-request-state-untrusted"},
			// stateSurvived takes a refusal by HTTP alone for an answer: whoever refuses what
			// a state holds, or how long it is, treats it as it should.
			Probe: func(t *check.T) {
				asking.EachState(t, 2, func(r asking.Round, state string) {
					for what, forged := range map[string]string{
						"a word": "mcpcheck", "nothing": "", "the half of its own": state[:len(state)/2], "20,000 letters": strings.Repeat("m", 20_000),
						"JSON": `{"mcpcheck":[null]}`, "what looks like a token": "bWNwY2hlY2s.bWNwY2hlY2s.bWNwY2hlY2s",
					} {
						_, err := r.Presented(t, forged)
						if status := posting.RefusalStatus(err); status != 0 {
							t.Note("a requestState of %s was refused by HTTP alone, with status %d", what, status)
						} else if err != nil {
							t.Fail("an answer to "+r.Method, err.Error(), "%s was retried with a requestState of %s: %v", r, what, err)
						}
					}
				})
				t.Survives("a requestState that is none")
			},
		},
		{
			ID:    "mrtr.state.tampered",
			Says:  "nothing is done on the strength of a requestState that was altered",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-request-state-tamper-rejected"},
			// stateTampered alters what can be read of a requestState, a value at a time,
			// and one letter of what cannot.
			// It is only when the result changes with it that the state matters and was
			// not protected; a state that may be altered without any effect needs no
			// protection (basic/patterns/mrtr#server-requirements-basic-workflow).
			// Whether a request is refused for its state is told by the one that is as it
			// should be, which must succeed behind it.
			Probe: func(t *check.T) {
				rejected := false
				asking.EachState(t, asking.MaxAskers, func(r asking.Round, state string) {
					r, state = r.Further(t, state)
					honest, ok := r.Steady(t)
					if !ok {
						return
					}
					refused := false
					for _, forged := range append(asking.Altered(state), asking.Scratched(state)...) {
						m := r.Present(t, forged.State)
						at := t.Marked()
						switch got := asking.VisibleContent(m); {
						case !check.Succeeded(t, m):
							refused = true
						case got != honest && r.Follows(t, forged.State, got, honest):
							t.Mark(t.Frames(at)[0])
							t.Fail("an error, or the question again", m.Summary(), "%s was retried with %s in its requestState, and its result changed with it: %s", r, forged.What, wire.Clip(got, 120))
						}
					}
					if refused {
						_, still := r.Again(t)
						rejected = rejected || still
					}
				})
				if !rejected {
					t.NotObserved("no requestState that was altered was refused, nor did it change any result", "")
				}
			},
		},
		{
			ID:    "mrtr.state.bound",
			Says:  "the requestState of one request is not accepted for another",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-request-state-bound-request"},
			// stateBound presents the requestState of one request at another, or at the
			// same tool with other arguments, with the answers that that one asked for. What
			// binds a state is part of what protects it
			// (basic/patterns/mrtr#server-requirements-basic-workflow): a state that needs no
			// protection, such as one that is always the same, needs not be bound either.
			Probe: func(t *check.T) {
				var first *asking.Round
				refused := false
				present := func(r asking.Round) {
					own, foreign := r.Interim.Get("requestState").String(), first.Interim.Get("requestState").String()
					if _, ok := r.Again(t); !ok || own == foreign {
						return
					}
					m := r.Present(t, foreign)
					at := t.Marked()
					switch {
					case !check.Succeeded(t, m):
						_, still := r.Again(t)
						refused = refused || still
					case r.Protected(t, own):
						t.Mark(t.Frames(at)[0])
						t.Fail("an error, or the question again", m.Summary(), "%s with %s was retried with the requestState of %s with %s, and succeeded",
							r, wire.Clip(string(check.MustJSON(r.Params)), 80), first.Asker, wire.Clip(string(check.MustJSON(first.Params)), 80))
					}
				}
				asking.EachState(t, asking.MaxAskers, func(r asking.Round, _ string) {
					if first == nil {
						first = &r
						return
					}
					present(r)
				})
				for _, other := range first.Variants(t) {
					if r, ok := other.Ask(t); ok && r.Interim.Get("requestState").Exists() {
						present(r)
					}
				}
				if !refused {
					t.NotObserved("no two requests that succeed carry a requestState of their own that is protected", "")
				}
			},
		},
	}
}
