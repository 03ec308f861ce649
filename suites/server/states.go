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

func stateSurvived(t *check.T) {
	withState(t, 2, func(r round, state string) {
		for what, forged := range map[string]string{
			"a word": "mcpcheck", "nothing": "", "the half of its own": state[:len(state)/2], "20,000 letters": strings.Repeat("m", 20_000),
			"JSON": `{"mcpcheck":[null]}`, "what looks like a token": "bWNwY2hlY2s.bWNwY2hlY2s.bWNwY2hlY2s",
		} {
			if _, err := t.TryFrame(r.method, with(r.retry, check.Params{"requestState": forged})); err != nil {
				t.Fail("an answer to "+r.method, err.Error(), "%s was retried with a requestState of %s: %v", r, what, err)
			}
		}
	})
	t.Survives("a requestState that is none")
}

// stateTampered alters what can be read of a requestState, a value at a time,
// and one letter of what cannot.
// It is only when the result changes with it that the state matters and was
// not protected; a state that may be altered without any effect needs no
// protection (basic/patterns/mrtr#server-requirements-basic-workflow).
func stateTampered(t *check.T) {
	rejected := false
	withState(t, maxAskers, func(r round, state string) {
		r, state = r.further(t, state)
		honest := t.Request(r.method, r.retry)
		if !succeeded(t, honest) {
			return
		}
		for _, forged := range append(altered(state), scratched(state)...) {
			m := t.Request(r.method, with(r.retry, check.Params{"requestState": forged.state}))
			if !succeeded(t, m) {
				rejected = true
				continue
			}
			if got := visible(m); got != visible(honest) && visible(t.Request(r.method, r.retry)) == visible(honest) {
				t.Fail("an error, or the question again", m.Summary(), "%s was retried with %s in its requestState, and its result changed with it: %s", r, forged.what, wire.Clip(got, 120))
			}
		}
	})
	if !rejected {
		t.NotObserved("no requestState that was altered was refused, nor did it change any result", "")
	}
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
// same tool with other arguments, with the answers that that one asked for.
func stateBound(t *check.T) {
	var first *round
	refused := false
	present := func(r round) {
		if !succeeded(t, t.Request(r.method, r.retry)) {
			return
		}
		foreign := first.interim.Get("requestState").String()
		m := t.Request(r.method, with(r.retry, check.Params{"requestState": foreign}))
		if succeeded(t, m) {
			t.Fail("an error, or the question again", m.Summary(), "%s with %s was retried with the requestState of %s with %s, and succeeded",
				r, wire.Clip(string(mustJSON(r.params)), 80), first.asker, wire.Clip(string(mustJSON(first.params)), 80))
		}
		refused = true
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
		t.NotObserved("fewer than two requests that succeed carry a requestState", "")
	}
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
