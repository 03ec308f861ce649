package server

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
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
			Probe: stateSurvived,
		},
		{
			ID:    "mrtr.state.tampered",
			Says:  "nothing is done on the strength of a requestState that was altered",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-request-state-tamper-rejected"},
			Probe: stateTampered,
		},
		{
			ID:    "mrtr.state.bound",
			Says:  "the requestState of one request is not accepted for another",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-request-state-bound-request"},
			Probe: stateBound,
		},
	}
}

// withState gives the rounds whose results carry a requestState.
func withState(t *check.T, most int, look func(r round, state string)) {
	seen := false
	eachRound(t, maxAskers, func(r round) {
		if state := r.interim.Get("requestState"); state.Type == gjson.String && most > 0 {
			most--
			seen = true
			look(r, state.Str)
		}
	})
	if !seen {
		t.NotObserved("no input_required result carries a requestState", "")
	}
}

// stateSurvived takes a refusal by HTTP alone for an answer: whoever refuses what
// a state holds, or how long it is, treats it as it should.
func stateSurvived(t *check.T) {
	withState(t, 2, func(r round, state string) {
		for what, forged := range map[string]string{
			"a word": "mcpcheck", "nothing": "", "the half of its own": state[:len(state)/2], "20,000 letters": strings.Repeat("m", 20_000),
			"JSON": `{"mcpcheck":[null]}`, "what looks like a token": "bWNwY2hlY2s.bWNwY2hlY2s.bWNwY2hlY2s",
		} {
			_, err := r.presented(t, forged)
			if status := refusedWith(err); status != 0 {
				t.Note("a requestState of %s was refused by HTTP alone, with status %d", what, status)
			} else if err != nil {
				t.Fail("an answer to "+r.method, err.Error(), "%s was retried with a requestState of %s: %v", r, what, err)
			}
		}
	})
	t.Survives("a requestState that is none")
}

// presented retries the request with another requestState.
func (r round) presented(t *check.T, state string) (wire.Message, error) {
	e, err := t.TryFrame(r.method, with(r.retry, check.Params{"requestState": state}))
	if err == nil {
		t.Mark(e)
	}
	return e.Message, err
}

// present does the same where an answer is due, which may be a refusal by HTTP
// alone: that is the zero message.
func (r round) present(t *check.T, state string) wire.Message {
	m, err := r.presented(t, state)
	if err != nil && refusedWith(err) == 0 {
		t.Fail("an answer to "+r.method, err.Error(), "%s was retried with another requestState: %v", r, err)
	}
	return m
}

// again retries the request as it should be, and tells whether it succeeded.
func (r round) again(t *check.T) (wire.Message, bool) {
	m := t.Request(r.method, r.retry)
	return m, succeeded(t, m)
}

// stateTampered alters what can be read of a requestState, a value at a time,
// and one letter of what cannot.
// It is only when the result changes with it that the state matters and was
// not protected; a state that may be altered without any effect needs no
// protection (basic/patterns/mrtr#server-requirements-basic-workflow).
// Whether a request is refused for its state is told by the one that is as it
// should be, which must succeed behind it.
func stateTampered(t *check.T) {
	rejected := false
	withState(t, maxAskers, func(r round, state string) {
		r, state = r.further(t, state)
		honest, ok := r.steady(t)
		if !ok {
			return
		}
		refused := false
		for _, forged := range append(altered(state), scratched(state)...) {
			m := r.present(t, forged.state)
			at := t.Marked()
			switch got := visible(m); {
			case !succeeded(t, m):
				refused = true
			case got != honest && r.follows(t, forged.state, got, honest):
				t.Mark(t.Frames(at)[0])
				t.Fail("an error, or the question again", m.Summary(), "%s was retried with %s in its requestState, and its result changed with it: %s", r, forged.what, wire.Clip(got, 120))
			}
		}
		if refused {
			_, still := r.again(t)
			rejected = rejected || still
		}
	})
	if !rejected {
		t.NotObserved("no requestState that was altered was refused, nor did it change any result", "")
	}
}

// steady returns what the result of a retry shows, if it is the same twice in a
// row.
func (r round) steady(t *check.T) (shown string, ok bool) {
	one, ok := r.again(t)
	if !ok {
		return "", false
	}
	two, ok := r.again(t)
	return visible(one), ok && visible(one) == visible(two)
}

// follows tells whether the result goes with the requestState, forged and honest in
// an order in which no result comes that alternates, or is one of a few.
func (r round) follows(t *check.T, forged, got, honest string) bool {
	for _, other := range []bool{true, false, false, true, true, true, false, true, false, false} {
		m, want := wire.Message{}, honest
		if other {
			m, want = r.present(t, forged), got
		} else {
			m, _ = r.again(t)
		}
		if !succeeded(t, m) || visible(m) != want {
			return false
		}
	}
	return true
}

// further answers one of several questions, so that the next requestState has
// an answer to keep.
func (r round) further(t *check.T, state string) (round, string) {
	answers, _ := r.retry["inputResponses"].(check.Params)
	if len(answers) < 2 {
		return r, state
	}
	key := firstKey(r.interim)
	m := t.Request(r.method, with(r.retry, check.Params{"inputResponses": check.Params{key: answers[key]}}))
	next := m.Result().Get("requestState")
	if !session.Interim(m) || next.Type != gjson.String {
		return r, state
	}
	retry, ok := t.Retry(r.params, m.Result())
	if !ok {
		return r, state
	}
	return round{r.asker, m.Result(), retry}, next.Str
}

// visible is what a result shows of a call.
func visible(m wire.Message) string {
	r := m.Result()
	return r.Get("content").Raw + r.Get("structuredContent").Raw + r.Get("messages").Raw + r.Get("contents").Raw
}

// stateBound presents the requestState of one request at another, or at the
// same tool with other arguments, with the answers that that one asked for. What
// binds a state is part of what protects it
// (basic/patterns/mrtr#server-requirements-basic-workflow): a state that needs no
// protection, such as one that is always the same, needs not be bound either.
func stateBound(t *check.T) {
	var first *round
	refused := false
	present := func(r round) {
		own, foreign := r.interim.Get("requestState").String(), first.interim.Get("requestState").String()
		if _, ok := r.again(t); !ok || own == foreign {
			return
		}
		m := r.present(t, foreign)
		at := t.Marked()
		switch {
		case !succeeded(t, m):
			_, still := r.again(t)
			refused = refused || still
		case r.protected(t, own):
			t.Mark(t.Frames(at)[0])
			t.Fail("an error, or the question again", m.Summary(), "%s with %s was retried with the requestState of %s with %s, and succeeded",
				r, wire.Clip(string(mustJSON(r.params)), 80), first.asker, wire.Clip(string(mustJSON(first.params)), 80))
		}
	}
	withState(t, maxAskers, func(r round, _ string) {
		if first == nil {
			first = &r
			return
		}
		present(r)
	})
	for _, other := range first.variants(t) {
		if r, ok := other.ask(t); ok && r.interim.Get("requestState").Exists() {
			present(r)
		}
	}
	if !refused {
		t.NotObserved("no two requests that succeed carry a requestState of their own that is protected", "")
	}
}

// protected tells whether every requestState is refused that was altered a little,
// while the request as it should be succeeds.
func (r round) protected(t *check.T, state string) bool {
	forgeries := append(scratched(state), altered(state)...)
	for _, forged := range forgeries {
		if succeeded(t, r.present(t, forged.state)) {
			return false
		}
	}
	_, still := r.again(t)
	return still && len(forgeries) > 0
}

// variants returns the same call with other arguments, if it is one of a tool.
func (a asker) variants(t *check.T) []asker {
	var out []asker
	for _, tool := range knownTools(t) {
		if a.method != "tools/call" || tool.Get("name").String() != a.name {
			continue
		}
		for _, args := range arguments(t, tool, 3) {
			params := callParams(tool, args)
			if string(mustJSON(params)) != string(mustJSON(a.params)) {
				out = append(out, asker{a.name, a.method, params, a.asks})
			}
		}
	}
	return out
}
