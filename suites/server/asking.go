package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// The methods by which a server asks its client for something.
const (
	listRoots     = "roots/list"
	createMessage = "sampling/createMessage"
	elicit        = "elicitation/create"
)

// An asker is a request on whose behalf a server asks its client for something.
type asker struct {
	name   string // of the tool, prompt or resource
	method string
	params check.Params
	asks   []check.Ask // as they were first seen
}

func (a asker) String() string { return fmt.Sprintf("%s of %q", a.method, a.name) }

// asksFor tells whether the request came to ask for a method.
func (a asker) asksFor(method string) bool { return len(a.of(method)) > 0 }

// of returns what was asked for by a method.
func (a asker) of(method string) []check.Ask {
	return slices.DeleteFunc(slices.Clone(a.asks), func(ask check.Ask) bool { return ask.Method != method })
}

// Bounds of the requests that are made again to see which of them asks, and of
// those that do.
const maxTried, maxAskers = 40, 12

// used uses what the server offers, once at this revision, and returns what was
// said meanwhile.
func used(t *check.T) []exchange {
	return check.Memo(t, "used", func() []exchange {
		var out []exchange
		if t.Declares("tools") {
			out = exchanges(called(t).frames)
		}
		return append(out, exchanges(shown(t).frames)...)
	})
}

// askers returns the requests that make the server ask, found out once at this
// revision.
func askers(t *check.T) []asker {
	return check.Memo(t, "askers", func() []asker {
		if t.Facts.Stateless {
			return askersOfRounds(t)
		}
		return askersOfRequests(t)
	})
}

// An exchange is a request of ours and its answer.
type exchange struct {
	asker
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
				x.during = slices.DeleteFunc(slices.Clone(answered), func(ask check.Ask) bool { return ask.Frame.Index < x.sent })
				out = append(out, x.exchange)
			case e.From == wire.Client && m.Kind == wire.Request:
				name := m.Params().Get("name")
				if m.Method() == "resources/read" {
					name = m.Params().Get("uri")
				}
				use := slices.Contains([]string{"tools/call", "prompts/get", "resources/read"}, m.Method())
				if what := m.Method() + " " + name.String(); use && name.Type == gjson.String && !known[what] {
					known[what] = true
					waiting[key] = open{exchange{asker: asker{name.Str, m.Method(), again(m), nil}, took: e.At}, e.Index}
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
func askersOfRounds(t *check.T) []asker {
	var out []asker
	for _, x := range used(t) {
		if x.asks = check.Asks(wire.Entry{Frame: wire.Frame{From: wire.Server}, Message: x.answer}); len(x.asks) > 0 && len(out) < maxAskers {
			out = append(out, x.asker)
		}
	}
	return out
}

// askersOfRequests makes requests again, one by one, during which the server
// asked for something: with others beside it, which one it was for is not
// known. The quick ones come first, and when everything that was asked for is
// explained it stops.
func askersOfRequests(t *check.T) []asker {
	all := slices.DeleteFunc(slices.Clone(used(t)), func(x exchange) bool { return len(x.during) == 0 })
	slices.SortStableFunc(all, func(a, b exchange) int { return cmp.Compare(a.took, b.took) })
	unexplained := map[string]bool{}
	var roots []exchange // those during which roots were asked for
	for _, x := range all {
		for _, ask := range x.during {
			if ask.Method != listRoots { // which a server may keep
				unexplained[kindOf(ask)] = true
			}
		}
		if slices.ContainsFunc(x.during, func(ask check.Ask) bool { return ask.Method == listRoots }) {
			roots = append(roots, x)
		}
	}
	var out []asker
	for i, x := range all {
		if len(unexplained) == 0 || i == maxTried {
			break
		}
		from := t.Len()
		if _, err := t.TryInvoke(x.method, x.params); err != nil {
			continue
		}
		if x.asks = t.Asks(from); len(x.asks) > 0 && len(out) < maxAskers {
			out = append(out, x.asker)
		}
		for _, ask := range x.asks {
			delete(unexplained, kindOf(ask))
		}
	}
	if len(roots) == 0 && asksRoots(t) {
		roots = slices.Clone(used(t)) // it had got them before
		slices.SortStableFunc(roots, func(a, b exchange) int { return cmp.Compare(a.took, b.took) })
	}
	if !slices.ContainsFunc(out, func(a asker) bool { return a.asksFor(listRoots) }) {
		out = append(out, userOfRoots(t, roots)...)
	}
	return out
}

// asksRoots tells whether the server asked for roots in this session.
func asksRoots(t *check.T) bool {
	return slices.ContainsFunc(t.Asks(0), func(a check.Ask) bool { return a.Method == listRoots })
}

// userOfRoots finds a request that uses roots: one that asks for them each
// time, or, where the server keeps them, one that has to ask for itself, or to
// wait, while the list that the server asks for after a change stays unanswered.
func userOfRoots(t *check.T, candidates []exchange) []asker {
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(x exchange) bool {
		return x.took > t.Timeout()/10 // that it waits would be no evidence
	})
	candidates = candidates[:min(len(candidates), maxTried)]
	at := t.Len()
	renewed(t, listRoots)
	t.Try(t.Facts.Barrier, nil)
	ways := []func(*check.T, exchange) bool{asksEachTime, asksWhenHeld}
	if asked := t.Asks(at); len(asked) > 0 {
		slices.Reverse(ways) // it keeps them, it seems
	}
	for _, uses := range ways {
		for _, x := range candidates {
			if uses(t, x) {
				x.asks = []check.Ask{{Method: listRoots}}
				return []asker{x.asker}
			}
		}
	}
	return nil
}

// asksEachTime tells whether a request makes the server ask for roots that did
// not change.
func asksEachTime(t *check.T, x exchange) bool {
	from := t.Len()
	_, err := t.TryInvoke(x.method, x.params)
	return err == nil && slices.ContainsFunc(t.Asks(from), func(a check.Ask) bool { return a.Method == listRoots })
}

// heldUp is how many times as long as before a request takes that waits.
const heldUp = 5

// asksWhenHeld tells whether a request waits for roots, or makes the server ask
// for them, while a question for them is left open. One ask may be for their
// change, a second is for the request. What takes a multiple of the time that
// the request took before is held up.
func asksWhenHeld(t *check.T, x exchange) bool {
	at := t.Len()
	answering(t, listRoots, func(check.Asked) check.Reply { return check.Reply{} })
	renewed(t, listRoots)
	running, err := t.TryStart(x.method, x.params)
	if err != nil {
		return false
	}
	asked, answered := 0, false
	t.TryAwait(at, min(t.Timeout()/5, heldUp*x.took+t.Timeout()/100), func(m wire.Message) bool {
		if m.Method() == listRoots {
			asked++
		}
		answered = answered || m.IsResponse() && m.ID().Equal(running.ID)
		return answered || asked > 1
	})
	t.Answering(nil)
	settle(t, running)
	return !answered
}

// settle answers willingly what the server still waits for, and waits for the
// answer to the request on whose behalf it may ask. ok is false if none came.
func settle(t *check.T, running *check.Call) (ok bool) {
	answerOpen(t)
	_, err := t.TryAnswer(running, t.Timeout())
	return err == nil
}

// answerOpen answers willingly every request of the server that was left
// unanswered, and that it did not cancel.
func answerOpen(t *check.T) {
	done := map[string]bool{}
	for _, e := range t.Frames(0) {
		switch m := e.Message; {
		case e.From == wire.Client && m.IsResponse():
			done[m.ID().Key()] = true
		case e.From == wire.Server && m.Method() == "notifications/cancelled":
			done[wire.ID{Raw: m.Params().Get("requestId").Raw}.Key()] = true
		}
	}
	for _, ask := range t.Asks(0) {
		if ask.Key == "" && !done[ask.Frame.Message.ID().Key()] {
			reply := session.Willing().Answer(check.Asked{Rev: t.Rev, Method: ask.Method, Params: ask.Params})
			t.Send(string(session.Response(ask.Frame.Message.ID(), reply)))
		}
	}
}

// kindOf tells asks apart that are likely to be for different requests.
func kindOf(ask check.Ask) string {
	return fmt.Sprintf("%s %s %s %t", ask.Method, ask.Params.Get("mode"), ask.Params.Get("requestedSchema").Raw, ask.Params.Get("tools").Exists())
}

// askersFor returns the requests that make the server ask for a method; none
// ends the body.
func askersFor(t *check.T, method string) []asker {
	out := slices.DeleteFunc(slices.Clone(askers(t)), func(a asker) bool { return !a.asksFor(method) })
	if len(out) == 0 {
		nothingAsks(t, method)
	}
	return out
}

func nothingAsks(t *check.T, what string) {
	hint := ""
	if t.Declares("tools") {
		hint = allowHint(called(t).held)
	}
	t.NotObserved(fmt.Sprintf("nothing that may be used of the server made it ask for %s", what), hint)
}

// renewed announces a change of the roots, so that a server which keeps them
// asks again.
func renewed(t *check.T, method string) {
	if method == listRoots && !t.Facts.Stateless {
		t.Notify("notifications/roots/list_changed", nil)
	}
}

// answering lets one answer of ours stand for all asks of a method; what else
// is asked for is answered willingly.
func answering(t *check.T, method string, reply func(check.Asked) check.Reply) {
	willing := session.Willing()
	t.Answering(func(a check.Asked) check.Reply {
		if a.Method == method {
			return reply(a)
		}
		return willing.Answer(a)
	})
}

// succeeded tells whether an answer is a complete result without isError.
func succeeded(t *check.T, m wire.Message) bool {
	return m.Kind == wire.Result && complete(t, m) && !m.Result().Get("isError").Bool()
}

// bad are answers that no server expects: a refusal by the user, a client that
// knows no such method or failed inside, and results without what they need.
func bad() []struct {
	what  string
	reply check.Reply
} {
	return []struct {
		what  string
		reply check.Reply
	}{
		{"error -1 of a user who refused", check.Reply{Code: -1, Message: "User rejected the request"}},
		{"error -32601", session.NoSuchMethod()},
		{"error -32603", check.Reply{Code: spec.InternalError, Message: "mcpcheck failed inside"}},
		{"an empty result", check.Reply{Result: check.Params{}}},
		{"a result with a foreign member", check.Reply{Result: check.Params{"mcpcheck": []any{nil}}}},
	}
}

// answersSurvived puts every kind of bad answer to what a request asks for, one
// late and twice, and none: the request is answered nevertheless, unless it is
// cancelled, and the server lives.
func answersSurvived(method string) func(*check.T) {
	return func(t *check.T) {
		a := askersFor(t, method)[0]
		for _, b := range bad() {
			answering(t, method, func(check.Asked) check.Reply { return b.reply })
			renewed(t, method)
			if _, err := t.TryInvoke(a.method, a.params); err != nil {
				t.Fail("an answer to "+a.method, err.Error(), "%s asked for %s and got %s: %v", a, method, b.what, err)
			}
		}
		late(t, a, method)
		answering(t, method, func(check.Asked) check.Reply { return check.Reply{} })
		renewed(t, method)
		running, err := t.TryStart(a.method, a.params)
		if err == nil {
			t.Await(running.Sent, func(m wire.Message) bool { return m.Method() == method })
			cancel(t, running)
		}
		t.Answering(nil)
		t.Survives("a request whose question was never answered was cancelled")
		answerOpen(t) // it would be left waiting when the session ends
	}
}

// late answers twice, and only after another request was served.
func late(t *check.T, a asker, method string) {
	answering(t, method, func(check.Asked) check.Reply { return check.Reply{} })
	renewed(t, method)
	running, err := t.TryStart(a.method, a.params)
	if err != nil {
		t.Survives("bad answers to " + method)
		return
	}
	t.Await(running.Sent, func(m wire.Message) bool { return m.Method() == method || m.IsResponse() && m.ID().Equal(running.ID) })
	if _, ok := t.Try(t.Facts.Barrier, nil); !ok {
		t.Fail("an answer to "+t.Facts.Barrier, "none", "while it waits for an answer to %s the server answers nothing else", method)
	}
	t.Answering(nil)
	for _, ask := range t.Asks(running.Sent) {
		reply := session.Willing().Answer(check.Asked{Rev: t.Rev, Method: ask.Method, Params: ask.Params})
		answer := string(session.Response(ask.Frame.Message.ID(), reply))
		t.Send(answer)
		t.Send(answer)
	}
	if !settle(t, running) {
		t.Fail("an answer to "+a.method, "none", "%s asked for %s, which was answered late and twice", a, method)
	}
}

// sparingTour uses the tools as clients that declare less: whether the server
// then asks for what they do not declare is judged in every session.
func sparingTour(t *check.T) {
	if !t.Facts.ElicitationModes {
		return
	}
	if !t.Facts.Stateless {
		if len(askers(t)) == 0 {
			return
		}
		other := t.AnotherAs(session.Sparing())
		callTools(other)
		other.Leave()
		return
	}
	for _, a := range askers(t) {
		for _, declared := range []check.Params{
			{}, {"roots": check.Params{}}, {"sampling": check.Params{}}, {"elicitation": check.Params{}},
			{"elicitation": check.Params{"url": check.Params{}}},
		} {
			t.Try(a.method, with(a.params, check.Params{"_meta": capable(declared)}))
		}
	}
}

// capable is a _meta that declares these capabilities of a client alone.
func capable(declared check.Params) check.Params {
	return check.Params{spec.MetaClientCapabilities: declared}
}

// with returns params with others added.
func with(params, more check.Params) check.Params {
	out := check.Params{}
	for _, from := range []check.Params{params, more} {
		for k, v := range from {
			out[k] = v
		}
	}
	return out
}
