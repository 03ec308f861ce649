package asking

import (
	"iter"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// A Round is a request that was answered with an input_required result, with the params
// of its retry.
type Round struct {
	Trigger
	Interim gjson.Result
	Retry   check.Params // with all answers and the requestState
}

// Rounds sends requests that make the server request input again, one before each
// step of the loop and at most so many. If none requests input it ends the body.
func Rounds(t *check.T, most int) iter.Seq[Round] {
	return func(yield func(Round) bool) {
		n := 0
		for _, a := range Triggers(t) {
			if n == most {
				break
			}
			if r, ok := a.StartRound(t); ok {
				n++
				if !yield(r) {
					return
				}
			}
		}
		if n == 0 {
			EndWithoutTrigger(t, "input")
		}
	}
}

// MaxRounds bounds the requests that a probe retries.
const MaxRounds = 4

// FirstKey returns the first key of the inputRequests of a result.
func FirstKey(interim gjson.Result) (first string) {
	interim.Get("inputRequests").ForEach(func(key, _ gjson.Result) bool {
		first = key.String()
		return false
	})
	return first
}

// HintState is the hint of a check of a requestState.
const HintState = "offer a read-only tool whose input_required result has a requestState" + check.OrAllow

// RoundsWithState returns those of Rounds whose results carry a requestState, at most
// so many, each with its requestState. If there are none it ends the body.
func RoundsWithState(t *check.T, most int) iter.Seq2[Round, string] {
	return func(yield func(Round, string) bool) {
		n := 0
		for r := range Rounds(t, MaxTriggers) {
			state := r.Interim.Get("requestState")
			if state.Type != gjson.String || n == most {
				continue
			}
			if n++; !yield(r, state.Str) {
				return
			}
		}
		if n == 0 {
			t.NotObserved("no input_required result carries a requestState", HintState)
		}
	}
}

// TryState retries the request with another requestState.
func (r Round) TryState(t *check.T, state string) (wire.Message, error) {
	e, err := t.Try(r.Method, check.Merge(r.Retry, check.Params{"requestState": state})).Get()
	if err == nil {
		t.Mark(e)
	}
	return e.Message, err
}

// RetryWithState is like TryState but a missing answer fails the check. If HTTP alone
// refused the request, it returns the zero message.
func (r Round) RetryWithState(t *check.T, state string) wire.Message {
	m, err := r.TryState(t, state)
	if err != nil && posting.RefusalStatus(err) == 0 {
		t.Fail("an answer to "+r.Method, err.Error(), "%s was retried with another requestState: %v", r, err)
	}
	return m
}

// RetryUnchanged retries the request without changes, and reports whether it succeeded.
func (r Round) RetryUnchanged(t *check.T) (wire.Message, bool) {
	m := t.Request(r.Method, r.Retry)
	return m, check.Succeeded(t, m)
}

// StableResult returns the visible content of a retry if two retries return the same.
func (r Round) StableResult(t *check.T) (shown string, ok bool) {
	one, ok := r.RetryUnchanged(t)
	if !ok {
		return "", false
	}
	two, ok := r.RetryUnchanged(t)
	return VisibleContent(one), ok && VisibleContent(one) == VisibleContent(two)
}

// ResultFollowsState reports whether the result depends on the requestState. It sends
// the forged and the original one in an irregular order, so that a server that
// alternates between results, or returns one of a few, does not match.
func (r Round) ResultFollowsState(t *check.T, forged, got, unchanged string) bool {
	for _, other := range []bool{true, false, false, true, true, true, false, true, false, false} {
		m, want := wire.Message{}, unchanged
		if other {
			m, want = r.RetryWithState(t, forged), got
		} else {
			m, _ = r.RetryUnchanged(t)
		}
		if !check.Succeeded(t, m) || VisibleContent(m) != want {
			return false
		}
	}
	return true
}

// AnswerOne answers one of several input requests, so that the next requestState holds
// an answer.
func (r Round) AnswerOne(t *check.T, state string) (Round, string) {
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
	return Round{r.Trigger, m.Result(), retry}, next.Str
}

// VisibleContent returns the content of a result that a user sees.
func VisibleContent(m wire.Message) string {
	r := m.Result()
	return r.Get("content").Raw + r.Get("structuredContent").Raw + r.Get("messages").Raw + r.Get("contents").Raw
}

// IsStateProtected reports whether the server refuses every changed requestState and
// accepts the unchanged one.
func (r Round) IsStateProtected(t *check.T, state string) bool {
	forgeries := append(ChangeMiddle(state), ChangeValues(state)...)
	for _, forged := range forgeries {
		if check.Succeeded(t, r.RetryWithState(t, forged.State)) {
			return false
		}
	}
	_, still := r.RetryUnchanged(t)
	return still && len(forgeries) > 0
}
