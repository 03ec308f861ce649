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

// maxAskers bounds the requests that are made again to see which of them asks.
const maxAskers = 12

// asksAtAll uses what the server offers, once at this revision, and tells
// whether it came to ask for anything.
func asksAtAll(t *check.T) bool {
	return check.Memo(t, "asks", func() bool {
		if t.Declares("tools") {
			called(t)
		}
		check.Memo(t, "shown", func() int { return shown(t) })
		return len(t.Asks(0)) > 0
	})
}

// askers returns the requests that make the server ask, found out once at this
// revision.
func askers(t *check.T) []asker {
	if !asksAtAll(t) {
		return nil
	}
	return check.Memo(t, "askers", func() []asker {
		if t.Facts.Stateless {
			return askersOfRounds(t)
		}
		return askersOfRequests(t)
	})
}

// An exchange is a request of ours that may make a server ask, and its answer.
type exchange struct {
	asker
	sent, answered int // indices of the frames
	took           time.Duration
	answer         wire.Message
}

// exchanges returns the first exchange of each tool, prompt and resource that
// was used in this session.
func exchanges(t *check.T) []exchange {
	var out []exchange
	open := map[string]exchange{} // by id
	known := map[string]bool{}
	for _, e := range t.Frames(0) {
		for _, m := range e.Message.Elements() {
			key := m.ID().Key()
			if x, ok := open[key]; ok && e.From == wire.Server && m.IsResponse() {
				delete(open, key)
				x.answered, x.took, x.answer = e.Index, e.At-x.took, m
				out = append(out, x)
				continue
			}
			name := gjson.Result{}
			switch m.Method() {
			case "tools/call", "prompts/get":
				name = m.Params().Get("name")
			case "resources/read":
				name = m.Params().Get("uri")
			}
			if what := m.Method() + " " + name.String(); e.From == wire.Client && m.Kind == wire.Request && name.Type == gjson.String && !known[what] {
				known[what] = true
				open[key] = exchange{asker: asker{name.Str, m.Method(), again(m), nil}, sent: e.Index, took: e.At}
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
	for _, x := range exchanges(t) {
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
	unexplained := map[string]bool{}
	at := map[int]bool{}
	first := t.Frames(0)
	for _, ask := range t.Asks(0) {
		at[ask.Frame.Index] = true
		unexplained[kindOf(ask)] = true
	}
	all := exchanges(t)
	slices.SortStableFunc(all, func(a, b exchange) int { return cmp.Compare(a.took, b.took) })
	var out []asker
	tried := 0
	for _, x := range all {
		asked := false
		for i := x.sent; i < min(x.answered, len(first)); i++ {
			asked = asked || at[i]
		}
		if !asked || len(unexplained) == 0 || tried == maxAskers {
			continue
		}
		tried++
		from := len(t.Frames(0))
		if _, err := t.TryInvoke(x.method, x.params); err != nil {
			continue
		}
		if x.asks = t.Asks(from); len(x.asks) > 0 {
			out = append(out, x.asker)
		}
		for _, ask := range x.asks {
			delete(unexplained, kindOf(ask))
		}
	}
	return out
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
	if _, err := t.TryAnswer(running, t.Timeout()); err != nil {
		t.Fail("an answer to "+a.method, err.Error(), "%s asked for %s, which was answered late and twice: %v", a, method, err)
	}
}

// sparingTour uses the tools as clients that declare less: whether the server
// then asks for what they do not declare is judged in every session.
func sparingTour(t *check.T) {
	if !t.Facts.ElicitationModes || !asksAtAll(t) {
		return
	}
	if !t.Facts.Stateless {
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
