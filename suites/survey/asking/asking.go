package asking

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// The methods by which a server asks its client for something.
const (
	ListRoots     = "roots/list"
	CreateMessage = "sampling/createMessage"
	Elicit        = "elicitation/create"
)

// An Asker is a request on whose behalf a server asks its client for something.
type Asker struct {
	Name   string // of the tool, prompt or resource
	Method string
	Params check.Params
	asks   []check.Ask // as they were first seen
}

func (a Asker) String() string { return fmt.Sprintf("%s of %q", a.Method, a.Name) }

// AsksFor tells whether the request came to ask for a method.
func (a Asker) AsksFor(method string) bool { return len(a.Of(method)) > 0 }

// Of returns what was asked for by a method.
func (a Asker) Of(method string) []check.Ask {
	return slices.DeleteFunc(slices.Clone(a.asks), func(ask check.Ask) bool { return ask.Method != method })
}

// Bounds of the requests that are made again to see which of them asks, and of
// those that do.
const maxTried, MaxAskers = 40, 12

var usedKey = check.NewKey[[]exchange]("used")

// Uses uses what the server offers, once at this revision, and returns what was
// said meanwhile.
func Uses(t *check.T) []exchange {
	return check.Once(t, usedKey, func() []exchange {
		var out []exchange
		if t.Declares("tools") {
			out = exchanges(toolcalls.Calls(t).Frames)
		}
		return append(out, exchanges(usage.Used(t).Frames)...)
	})
}

var AskersKey = check.NewKey[[]Asker]("askers")

// Askers returns the requests that make the server ask, found out once at this
// revision.
func Askers(t *check.T) []Asker {
	return check.Once(t, AskersKey, func() []Asker {
		if t.Facts.Stateless {
			return askersOfRounds(t)
		}
		return askersOfRequests(t)
	})
}

// An exchange is a request of ours and its answer.
type exchange struct {
	Asker
	took   time.Duration
	answer wire.Message
	during []check.Ask // requests of the server that may have been for it
}

// exchanges returns the first exchange of each tool, prompt and resource in the
// frames of a session.
func exchanges(frames []wire.Entry) []exchange {
	type open struct {
		exchange
		sent int
	}
	var out []exchange
	waiting := map[string]open{}    // by id
	asked := map[string]check.Ask{} // requests of the server, by id
	var answered []check.Ask
	known := map[string]bool{}
	for _, e := range frames {
		for _, m := range e.Message.Elements() {
			key := m.ID().Key()
			switch {
			case e.From == wire.Server && m.Kind == wire.Request:
				for _, ask := range check.Asks(wire.Entry{Index: e.Index, Frame: e.Frame, Message: m}) {
					asked[key] = ask
				}
			case e.From == wire.Client && m.IsResponse():
				if ask, ok := asked[key]; ok {
					answered = append(answered, ask)
				}
			case e.From == wire.Server && m.IsResponse():
				x, ok := waiting[key]
				if !ok {
					continue
				}
				delete(waiting, key)
				x.took, x.answer = e.At-x.took, m
				// What is for a request comes after it, and is answered before it.
				x.during = slices.DeleteFunc(slices.Clone(answered), func(ask check.Ask) bool {
					return ask.Frame.Index < x.sent
				})
				out = append(out, x.exchange)
			case e.From == wire.Client && m.Kind == wire.Request:
				name := m.Params().Get("name")
				if m.Method() == "resources/read" {
					name = m.Params().Get("uri")
				}
				// What a task asks for comes behind the answer to its request.
				use := slices.Contains([]string{"tools/call", "prompts/get", "resources/read"}, m.Method()) &&
					!m.Params().Get("task").Exists()
				if what := m.Method() + " " + name.String(); use && name.Type == gjson.String && !known[what] {
					known[what] = true
					waiting[key] = open{
						exchange{Asker: Asker{name.Str, m.Method(), again(m), nil}, took: e.At}, e.Index,
					}
				}
			}
		}
	}
	return out
}

// again returns the params by which a request is made anew.
func again(m wire.Message) check.Params {
	params := check.Params{}
	m.Params().ForEach(func(key, v gjson.Result) bool {
		switch key.String() {
		case "_meta", "inputResponses", "requestState":
		default:
			params[key.String()] = json.RawMessage(v.Raw)
		}
		return true
	})
	return params
}

// askersOfRounds reads off the results what their requests asked for.
func askersOfRounds(t *check.T) []Asker {
	var out []Asker
	for _, x := range Uses(t) {
		if x.asks = check.Asks(wire.Entry{Frame: wire.Frame{From: wire.Server}, Message: x.answer}); len(x.asks) > 0 &&
			len(out) < MaxAskers {
			out = append(out, x.Asker)
		}
	}
	return out
}

// askersOfRequests makes requests again, one by one, during which the server
// asked for something: with others beside it, which one it was for is not
// known. The quick ones come first, and when everything that was asked for is
// explained it stops.
func askersOfRequests(t *check.T) []Asker {
	all := slices.DeleteFunc(slices.Clone(Uses(t)), func(x exchange) bool { return len(x.during) == 0 })
	slices.SortStableFunc(all, func(a, b exchange) int { return cmp.Compare(a.took, b.took) })
	unexplained := map[string]bool{}
	var roots []exchange // those during which roots were asked for
	for _, x := range all {
		for _, ask := range x.during {
			if ask.Method != ListRoots { // which a server may keep
				unexplained[kindOf(ask)] = true
			}
		}
		if slices.ContainsFunc(x.during, func(ask check.Ask) bool { return ask.Method == ListRoots }) {
			roots = append(roots, x)
		}
	}
	var out []Asker
	for i, x := range all {
		if len(unexplained) == 0 || i == maxTried {
			break
		}
		from := t.Len()
		if _, err := t.Client().Invoke(x.Method, x.Params).Get(); err != nil {
			continue
		}
		if x.asks = t.Client().Requests(from); len(x.asks) > 0 && len(out) < MaxAskers {
			out = append(out, x.Asker)
		}
		for _, ask := range x.asks {
			delete(unexplained, kindOf(ask))
		}
	}
	if len(roots) == 0 && AsksRoots(t) {
		roots = slices.Clone(Uses(t)) // it had got them before
		slices.SortStableFunc(roots, func(a, b exchange) int { return cmp.Compare(a.took, b.took) })
	}
	if !slices.ContainsFunc(out, func(a Asker) bool { return a.AsksFor(ListRoots) }) {
		out = append(out, userOfRoots(t, roots)...)
	}
	return out
}

// AsksRoots tells whether the server asked for roots in this session.
func AsksRoots(t *check.T) bool {
	return slices.ContainsFunc(t.Client().Requests(0), func(a check.Ask) bool { return a.Method == ListRoots })
}

// userOfRoots finds a request that uses roots: one that asks for them each
// time, or, where the server keeps them, one that has to ask for itself, or to
// wait, while the list that the server asks for after a change stays unanswered.
func userOfRoots(t *check.T, candidates []exchange) []Asker {
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(x exchange) bool {
		return x.took > t.Timeout()/3 // that it waits would be no evidence
	})
	candidates = candidates[:min(len(candidates), maxTried)]
	at := t.Len()
	Renewed(t, ListRoots)
	t.Try(t.Facts.BarrierMethod, nil)
	ways := []func(*check.T, exchange) bool{asksEachTime, asksWhenHeld}
	if asked := t.Client().Requests(at); len(asked) > 0 {
		slices.Reverse(ways) // it keeps them, it seems
	}
	for _, uses := range ways {
		for _, x := range candidates {
			if uses(t, x) {
				x.asks = []check.Ask{{Method: ListRoots}}
				return []Asker{x.Asker}
			}
		}
	}
	return nil
}

// asksEachTime tells whether a request makes the server ask for roots that did
// not change.
func asksEachTime(t *check.T, x exchange) bool {
	from := t.Len()
	_, err := t.Client().Invoke(x.Method, x.Params).Get()
	return err == nil && slices.ContainsFunc(t.Client().Requests(from), func(a check.Ask) bool {
		return a.Method == ListRoots
	})
}

// heldUp is how many times as long as before a request takes that waits.
const heldUp = 5

// asksWhenHeld tells whether a request waits for roots, or makes the server ask
// for them, while a question for them is left open. One ask may be for their
// change, a second is for the request. What takes a multiple of the time that
// the request took before is held up.
func asksWhenHeld(t *check.T, x exchange) bool {
	at := t.Len()
	Answering(t, ListRoots, func(check.Asked) check.ClientAnswer { return check.ClientAnswer{} })
	Renewed(t, ListRoots)
	running, err := t.TryStart(x.Method, x.Params)
	if err != nil {
		return false
	}
	asked, answered := 0, false
	t.Await(at, func(m wire.Message) bool {
		if m.Method() == ListRoots {
			asked++
		}
		answered = answered || m.IsResponse() && m.ID().Equal(running.ID)
		return answered || asked > 1
	}, min(t.Timeout()/5, heldUp*x.took+t.Timeout()/100))
	t.Client().Answer(nil)
	WaitForAnswers(t, running)
	return !answered
}

// WaitForAnswers answers willingly what the server still waits for, and waits for the
// answer to the request on whose behalf it may ask. ok is false if none came.
func WaitForAnswers(t *check.T, running *check.Call) (ok bool) {
	AnswerOpen(t)
	_, err := t.TryAnswer(running, t.Timeout()).Get()
	return err == nil
}

// AnswerOpen answers willingly every request of the server that was left
// unanswered, and that it did not cancel.
func AnswerOpen(t *check.T) {
	done := map[string]bool{}
	var asks []check.Ask
	for _, e := range t.Frames(0) {
		switch m := e.Message; {
		case e.From == wire.Server && (m.Kind == wire.Request || m.Kind == wire.Batch):
			for _, part := range m.Elements() {
				e.Message = part
				asks = append(asks, check.Asks(e)...)
			}
		case e.From == wire.Client && m.IsResponse():
			done[m.ID().Key()] = true
		case e.From == wire.Server && m.Method() == "notifications/cancelled":
			done[wire.ID{Raw: m.Params().Get("requestId").Raw}.Key()] = true
		}
	}
	for _, ask := range asks {
		if !done[ask.Frame.Message.ID().Key()] {
			reply := session.FullHost().Answer(check.Asked{Rev: t.Rev, Method: ask.Method, Params: ask.Params})
			t.Send(string(session.EncodeResponse(ask.Frame.Message.ID(), reply)))
		}
	}
}

// kindOf tells asks apart that are likely to be for different requests.
func kindOf(ask check.Ask) string {
	return fmt.Sprintf("%s %s %s %t", ask.Method, ask.Params.Get("mode"), ask.Params.Get("requestedSchema").Raw,
		ask.Params.Get("tools").Exists())
}

// AskersFor returns the requests that make the server ask for a method; none
// ends the body.
func AskersFor(t *check.T, method string) []Asker {
	out := slices.DeleteFunc(slices.Clone(Askers(t)), func(a Asker) bool { return !a.AsksFor(method) })
	if len(out) == 0 {
		NothingAsks(t, method)
	}
	return out
}

func NothingAsks(t *check.T, what string) {
	hint := ""
	if t.Declares("tools") {
		hint = check.AllowHint(toolcalls.Calls(t).Held)
	}
	t.NotObserved(fmt.Sprintf("nothing that may be used of the server made it ask for %s", what), hint)
}

// Renewed announces a change of the roots, so that a server which keeps them
// asks again.
func Renewed(t *check.T, method string) {
	if method == ListRoots && !t.Facts.Stateless {
		t.Notify("notifications/roots/list_changed", nil)
	}
}

// Answering lets one answer of ours stand for all asks of a method; what else
// is asked for is answered willingly.
func Answering(t *check.T, method string, reply func(check.Asked) check.ClientAnswer) {
	willing := session.FullHost()
	t.Client().Answer(func(a check.Asked) check.ClientAnswer {
		if a.Method == method {
			return reply(a)
		}
		return willing.Answer(a)
	})
}

// Ask makes a request anew; ok is false if it no longer asks for input.
func (a Asker) Ask(t *check.T) (r Round, ok bool) {
	e, err := t.Try(a.Method, a.Params).Get()
	if err != nil || !session.IsInputRequired(e.Message) {
		return Round{}, false
	}
	retry, ok := t.Client().Retry(a.Params, e.Message.Result())
	return Round{a, e.Message.Result(), retry}, ok
}

// Variants returns the same call with other arguments, if it is one of a tool.
func (a Asker) Variants(t *check.T) []Asker {
	var out []Asker
	for _, tool := range offer.Tools(t) {
		if a.Method != "tools/call" || tool.Get("name").String() != a.Name {
			continue
		}
		for _, args := range offer.Arguments(t, tool, 3) {
			params := offer.CallParams(tool, args)
			if string(check.MustJSON(params)) != string(check.MustJSON(a.Params)) {
				out = append(out, Asker{a.Name, a.Method, params, a.asks})
			}
		}
	}
	return out
}
