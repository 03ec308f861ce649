package server

import (
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

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
		asked := false
		if err == nil {
			_, asked = t.Await(running.Sent, func(m wire.Message) bool { return m.Method() == method })
			t.Cancel(running)
		}
		t.Answering(nil)
		t.Survives("a request whose question was never answered was cancelled")
		if asked && method != listRoots { // roots may have been asked for on the server's own account
			answerWithdrawn(t, running.Sent)
		}
		answerOpen(t) // it would be left waiting when the session ends
	}
}

// keepsAsking is learnt of a server that does not take back what it asked for.
const keepsAsking = "keeps asking for cancelled requests"

// answerWithdrawn answers what the server took back when the request that it
// asked for was cancelled, as it may come to pass: how it takes that is judged
// in every session (cancellation.sent.answer). A server that once took nothing
// back is not waited for again.
func answerWithdrawn(t *check.T, from int) {
	if t.Learnt(keepsAsking) {
		return
	}
	m, ok := t.AwaitWithin(from, t.Timeout()/20, func(m wire.Message) bool { return m.Method() == "notifications/cancelled" })
	if !ok {
		t.Learn(keepsAsking)
		return
	}
	for _, ask := range t.Asks(from) {
		if id := ask.Frame.Message.ID(); ask.Key == "" && id.Raw == m.Params().Get("requestId").Raw {
			t.Send(string(session.Response(id, check.Reply{Code: spec.InternalError, Message: "mcpcheck answers too late"})))
			t.Survives("an answer to a request that it had cancelled")
		}
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
		calledUnwatched(other)
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
