package asking

import (
	"iter"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// A Round is a request that was answered with an input_required result, and how
// it is retried.
type Round struct {
	Asker
	Interim gjson.Result
	Retry   check.Params // with every answer, and the requestState
}

// Rounds sends requests that make the server request input again, one before each
// step of the loop and at most so many. If none requests input it ends the body.
func Rounds(t *check.T, most int) iter.Seq[Round] {
	return func(yield func(Round) bool) {
		n := 0
		for _, a := range Askers(t) {
			if n == most {
				break
			}
			if r, ok := a.Ask(t); ok {
				n++
				if !yield(r) {
					return
				}
			}
		}
		if n == 0 {
			NothingAsks(t, "input")
		}
	}
}

// MaxRounds bounds the requests that a probe retries in its ways.
const MaxRounds = 4

func FirstKey(interim gjson.Result) (first string) {
	interim.Get("inputRequests").ForEach(func(key, _ gjson.Result) bool {
		first = key.String()
		return false
	})
	return first
}

// RoundsWithState returns those of Rounds whose results carry a requestState, at most
// so many, each with its requestState. If there are none it ends the body.
func RoundsWithState(t *check.T, most int) iter.Seq2[Round, string] {
	return func(yield func(Round, string) bool) {
		n := 0
		for r := range Rounds(t, MaxAskers) {
			state := r.Interim.Get("requestState")
			if state.Type != gjson.String || n == most {
				continue
			}
			if n++; !yield(r, state.Str) {
				return
			}
		}
		if n == 0 {
			t.NotObserved("no input_required result carries a requestState", "")
		}
	}
}

// Presented retries the request with another requestState.
func (r Round) Presented(t *check.T, state string) (wire.Message, error) {
	e, err := t.Try(r.Method, check.Merge(r.Retry, check.Params{"requestState": state})).Get()
	if err == nil {
		t.Mark(e)
	}
	return e.Message, err
}

// Present does the same where an answer is due, which may be a refusal by HTTP
// alone: that is the zero message.
func (r Round) Present(t *check.T, state string) wire.Message {
	m, err := r.Presented(t, state)
	if err != nil && posting.RefusalStatus(err) == 0 {
		t.Fail("an answer to "+r.Method, err.Error(), "%s was retried with another requestState: %v", r, err)
	}
	return m
}

// Again retries the request as it should be, and tells whether it succeeded.
func (r Round) Again(t *check.T) (wire.Message, bool) {
	m := t.Request(r.Method, r.Retry)
	return m, check.Succeeded(t, m)
}

// Steady returns what the result of a retry shows, if it is the same twice in a
// row.
func (r Round) Steady(t *check.T) (shown string, ok bool) {
	one, ok := r.Again(t)
	if !ok {
		return "", false
	}
	two, ok := r.Again(t)
	return VisibleContent(one), ok && VisibleContent(one) == VisibleContent(two)
}

// Follows tells whether the result goes with the requestState, forged and honest in
// an order in which no result comes that alternates, or is one of a few.
func (r Round) Follows(t *check.T, forged, got, honest string) bool {
	for _, other := range []bool{true, false, false, true, true, true, false, true, false, false} {
		m, want := wire.Message{}, honest
		if other {
			m, want = r.Present(t, forged), got
		} else {
			m, _ = r.Again(t)
		}
		if !check.Succeeded(t, m) || VisibleContent(m) != want {
			return false
		}
	}
	return true
}

// Further answers one of several questions, so that the next requestState has
// an answer to keep.
func (r Round) Further(t *check.T, state string) (Round, string) {
	answers, _ := r.Retry["inputResponses"].(check.Params)
	if len(answers) < 2 {
		return r, state
	}
	key := FirstKey(r.Interim)
	m := t.Request(r.Method, check.Merge(r.Retry, check.Params{"inputResponses": check.Params{key: answers[key]}}))
	next := m.Result().Get("requestState")
	if !session.IsInputRequired(m) || next.Type != gjson.String {
		return r, state
	}
	retry, ok := t.Client().Retry(r.Params, m.Result())
	if !ok {
		return r, state
	}
	return Round{r.Asker, m.Result(), retry}, next.Str
}

// VisibleContent is what a result shows of a call.
func VisibleContent(m wire.Message) string {
	r := m.Result()
	return r.Get("content").Raw + r.Get("structuredContent").Raw + r.Get("messages").Raw + r.Get("contents").Raw
}

// Protected tells whether every requestState is refused that was altered a little,
// while the request as it should be succeeds.
func (r Round) Protected(t *check.T, state string) bool {
	forgeries := append(Scratched(state), Altered(state)...)
	for _, forged := range forgeries {
		if check.Succeeded(t, r.Present(t, forged.State)) {
			return false
		}
	}
	_, still := r.Again(t)
	return still && len(forgeries) > 0
}
