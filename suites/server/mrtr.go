package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// mrtr are the probes of basic/patterns/mrtr: of what a server makes of the
// retries of requests that it answered with an input_required result.
func mrtr() []check.Check {
	return slices.Concat([]check.Check{
		{
			ID:    "mrtr.abandoned",
			Says:  "requests that are never retried leave the next one as it was",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-no-assumed-retry"},
			Probe: roundsAbandoned,
		},
		{
			ID:       "mrtr.responses.validated",
			Says:     "a retry whose inputResponses are none does not succeed",
			Level:    spec.Should,
			In:       spec.Stateless,
			Rules:    []string{"mrtr-server-validates-responses"},
			Malforms: true,
			Probe:    responsesValidated,
		},
		{
			ID:       "mrtr.responses.errors",
			Says:     "a retry whose inputResponses are no object is answered with an error",
			Level:    spec.Should,
			In:       spec.Stateless,
			Rules:    []string{"mrtr-protocol-errors"},
			Malforms: true,
			Probe:    responsesErrors,
		},
		{
			ID:    "mrtr.responses.extra",
			Says:  "a response that was not asked for is ignored",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-extra-responses-ignored"},
			Probe: responsesExtra,
		},
		{
			ID:    "mrtr.responses.missing",
			Says:  "what a retry leaves unanswered is asked for again",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-missing-responses-rerequested"},
			Probe: responsesMissing,
		},
		{
			ID:    "mrtr.spontaneous",
			Says:  "a first request with inputResponses and a requestState of its own making is answered, and the server lives",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-spontaneous-responses-harmless"},
			Probe: responsesSpontaneous,
		},
	}, requestStates())
}

// A round is a request that was answered with an input_required result, and how
// it is retried.
type round struct {
	asker
	interim gjson.Result
	retry   check.Params // with every answer, and the requestState
}

// ask makes a request anew; ok is false if it no longer asks for input.
func (a asker) ask(t *check.T) (r round, ok bool) {
	e, err := t.TryFrame(a.method, a.params)
	if err != nil || !session.Interim(e.Message) {
		return round{}, false
	}
	retry, ok := t.Retry(a.params, e.Message.Result())
	return round{a, e.Message.Result(), retry}, ok
}

// eachRound makes requests that ask for input anew, at most so many; none ends
// the body.
func eachRound(t *check.T, most int, look func(r round)) {
	n := 0
	for _, a := range askers(t) {
		if r, ok := a.ask(t); ok && n < most {
			n++
			look(r)
		}
	}
	if n == 0 {
		nothingAsks(t, "input")
	}
}

// maxRounds bounds the requests that a probe retries in its ways.
const maxRounds = 4

// roundsAbandoned leaves some requests where they ask for input, and expects
// the next to be as good as the first.
func roundsAbandoned(t *check.T) {
	eachRound(t, 2, func(r round) {
		for range 3 {
			r.ask(t)
		}
		m := t.Request(r.method, r.params)
		if m.Kind != wire.Result {
			t.Fail("the result that the first such request got", m.Summary(), "%s was asked anew after some that were never retried, and answered with %s", r, m.Summary())
		}
	})
	t.Survives("requests that were never retried")
}

// responsesValidated accepts an error, a failure of the tool and a renewed
// question.
func responsesValidated(t *check.T) {
	eachRound(t, maxRounds, func(r round) {
		key, wrong := firstKey(r.interim), map[string]any{}
		maps.Copy(wrong, r.retry["inputResponses"].(check.Params))
		wrong[key] = "mcpcheck"
		for _, responses := range []any{[]any{"mcpcheck"}, "mcpcheck", wrong} {
			m := t.Request(r.method, with(r.retry, check.Params{"inputResponses": responses}))
			if succeeded(t, m) {
				t.Fail("an error, or the question again", m.Summary(), "%s was retried with the inputResponses %s, and succeeded", r, wire.Clip(string(mustJSON(responses)), 80))
			}
		}
	})
}

func firstKey(interim gjson.Result) (first string) {
	interim.Get("inputRequests").ForEach(func(key, _ gjson.Result) bool {
		first = key.String()
		return false
	})
	return first
}

// responsesErrors leaves success to responsesValidated.
func responsesErrors(t *check.T) {
	eachRound(t, 1, func(r round) {
		m := t.Request(r.method, with(r.retry, check.Params{"inputResponses": "mcpcheck"}))
		switch {
		case succeeded(t, m):
			t.NotObserved("the retry succeeded, which mrtr.responses.validated judges", "")
		case m.Kind != wire.Error:
			t.Fail("an error", m.Summary(), "%s was retried with a string as inputResponses, and answered with %s", r, m.Summary())
		}
	})
}

// responsesExtra looks at requests that succeed without the surplus.
func responsesExtra(t *check.T) {
	seen := false
	eachRound(t, maxRounds, func(r round) {
		if e, err := t.TryInvoke(r.method, r.params); err != nil || !succeeded(t, e.Message) {
			return
		}
		e, err := t.TryFrame(r.method, r.params)
		if err != nil || !session.Interim(e.Message) {
			return
		}
		retry, _ := t.Retry(r.params, e.Message.Result())
		plain := t.Request(r.method, retry)
		if e, err = t.TryFrame(r.method, r.params); err != nil || !session.Interim(e.Message) {
			return
		}
		retry, _ = t.Retry(r.params, e.Message.Result())
		retry["inputResponses"] = with(retry["inputResponses"].(check.Params), check.Params{"mcpcheck-extra": check.Params{"action": "cancel"}})
		m := t.Request(r.method, retry)
		if m.Kind != plain.Kind || succeeded(t, m) != succeeded(t, plain) || complete(t, m) != complete(t, plain) {
			t.Fail("the answer without it, "+plain.Summary(), m.Summary(), "%s was retried with an answer that was not asked for beside the others", r)
		}
		seen = true
	})
	if !seen {
		t.NotObserved("no request that asks for input succeeded", "")
	}
}

// responsesMissing leaves one answer out. Success shows that it was not needed.
func responsesMissing(t *check.T) {
	seen := false
	eachRound(t, maxRounds, func(r round) {
		left := maps.Clone(r.retry["inputResponses"].(check.Params))
		key := firstKey(r.interim)
		delete(left, key)
		m := t.Request(r.method, with(r.retry, check.Params{"inputResponses": left}))
		switch {
		case m.Kind == wire.Error || m.Result().Get("isError").Bool():
			t.Fail("an input_required result", m.Summary(), "%s was retried without an answer to %q, and answered with %s", r, key, m.Summary())
		case session.Interim(m):
			if asked := m.Result().Get("inputRequests"); !wire.Member(asked, key).Exists() && len(asked.Map()) == 0 {
				t.Fail("inputRequests with what is missing", m.Summary(), "%s was retried without an answer to %q, and asks for nothing", r, key)
			}
			seen = true
		}
	})
	if !seen {
		t.NotObserved("no request that asks for input was refused for want of it", "")
	}
}

// responsesSpontaneous adds to plain requests what belongs to a retry. A name
// that is unknown may always be sent.
func responsesSpontaneous(t *check.T) {
	unasked := check.Params{"requestState": "mcpcheck", "inputResponses": check.Params{"mcpcheck": check.Params{"action": "accept", "content": check.Params{}}}}
	tried := 0
	try := func(method string, params check.Params) {
		if _, err := t.TryFrame(method, with(params, unasked)); err != nil {
			t.Fail("an answer to "+method, err.Error(), "%s was sent with inputResponses and a requestState that nobody asked for: %v", method, err)
		}
		tried++
	}
	if t.Declares("tools") {
		try("tools/call", check.Params{"name": noSuchTool, "arguments": check.Params{}})
	}
	for _, x := range used(t) {
		if tried < 6 {
			try(x.method, x.params)
		}
	}
	if tried == 0 {
		t.NotObserved("the server has nothing that could ask for input", "")
	}
	t.Survives("inputResponses that nobody asked for")
}

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

// stateTampered alters what can be read of a requestState, a value at a time.
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
		for _, forged := range altered(state) {
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

// stateBound presents the requestState of one request at another with the
// answers that that one asked for.
func stateBound(t *check.T) {
	var first *round
	refused := false
	withState(t, maxAskers, func(r round, state string) {
		if first == nil {
			first = &r
			return
		}
		if !succeeded(t, t.Request(r.method, r.retry)) {
			return
		}
		foreign := first.interim.Get("requestState").String()
		m := t.Request(r.method, with(r.retry, check.Params{"requestState": foreign}))
		if succeeded(t, m) {
			t.Fail("an error, or the question again", m.Summary(), "%s was retried with the requestState of %s, and succeeded", r, first.asker)
		}
		refused = true
	})
	if !refused {
		t.NotObserved("fewer than two requests carry a requestState", fmt.Sprintf("%d tools may ask for input", len(askers(t))))
	}
}

// A forgery is a requestState with one value of it altered.
type forgery struct{ state, what string }

// maxForgeries bounds what is tried of one requestState.
const maxForgeries = 12

// altered returns a requestState with the values altered, each by itself, that
// can be read in it: JSON, or JSON in base64, the whole or a part between dots.
func altered(state string) []forgery {
	var out []forgery
	parts := strings.Split(state, ".")
	for i, p := range parts {
		text, encode := readable(p)
		if text == "" {
			continue
		}
		for _, path := range leaves("", gjson.Parse(text)) {
			var doc any
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			if d.Decode(&doc) != nil || len(out) == maxForgeries {
				break
			}
			changed := slices.Clone(parts)
			changed[i] = encode(mustJSON(alter(doc, strings.Split(path, "\x00")[1:])))
			out = append(out, forgery{strings.Join(changed, "."), "another " + strings.ReplaceAll(path[1:], "\x00", "/")})
		}
	}
	return out
}
