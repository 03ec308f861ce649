package expect

import (
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
)

// badAnswers are answers that no server expects: a refusal by the user, a client that
// knows no such method or failed inside, and results without what they need.
func badAnswers() []struct {
	what  string
	reply check.ClientAnswer
} {
	return []struct {
		what  string
		reply check.ClientAnswer
	}{
		{"error -1 of a user who refused", check.ClientAnswer{Code: -1, Message: "User rejected the request"}},
		{"error -32601", session.MethodNotFoundReply()},
		{"error -32603", check.ClientAnswer{Code: spec.InternalError, Message: "mcpcheck failed inside"}},
		{"an empty result", check.ClientAnswer{Result: check.Params{}}},
		{"a result with a foreign member", check.ClientAnswer{Result: check.Params{"mcpcheck": []any{nil}}}},
	}
}

// AnswersSurvived puts every kind of bad answer to what a request asks for, one
// late and twice, and none: the request is answered nevertheless, unless it is
// cancelled, and the server lives.
func AnswersSurvived(t *check.T, method string) {
	a := asking.AskersFor(t, method)[0]
	for _, b := range badAnswers() {
		asking.Answering(t, method, func(check.Asked) check.ClientAnswer { return b.reply })
		asking.Renewed(t, method)
		if _, err := t.Client().Invoke(a.Method, a.Params).Get(); err != nil {
			t.Fail("an answer to "+a.Method, err.Error(), "%s asked for %s and got %s: %v", a, method, b.what, err)
		}
	}
	lateAnswers(t, a, method)
	asking.Answering(t, method, func(check.Asked) check.ClientAnswer { return check.ClientAnswer{} })
	asking.Renewed(t, method)
	running, err := t.TryStart(a.Method, a.Params)
	asked := false
	if err == nil {
		_, asked = t.Await(running.FrameIndex, func(m wire.Message) bool { return m.Method() == method })
		t.Cancel(running)
	}
	t.Client().Answer(nil)
	t.Survives("a request whose question was never answered was cancelled")
	if asked && method != asking.ListRoots { // roots may have been asked for on the server's own account
		answerWithdrawn(t, running.FrameIndex)
	}
	asking.AnswerOpen(t) // it would be left waiting when the session ends
}

// keepsAsking is learnt of a server that does not take back what it asked for.
const keepsAsking = "keeps asking for cancelled requests"

// answerWithdrawn answers what the server took back when the request that it
// asked for was cancelled, as it may come to pass: how it takes that is judged
// in every session (cancellation.sent.answer). A server that once took nothing
// back is not waited for again.
func answerWithdrawn(t *check.T, from int) {
	if check.Has(t, keepsAsking) {
		return
	}
	m, ok := t.Await(from, func(m wire.Message) bool { return m.Method() == "notifications/cancelled" }, t.Timeout()/20)
	if !ok {
		check.Learn(t, keepsAsking)
		return
	}
	for _, ask := range t.Client().Requests(from) {
		if id := ask.Frame.Message.ID(); ask.Key == "" && id.Raw == m.Params().Get("requestId").Raw {
			t.Send(string(session.EncodeResponse(id,
				check.ClientAnswer{Code: spec.InternalError, Message: "mcpcheck answers too late"})))
			t.Survives("an answer to a request that it had cancelled")
		}
	}
}

// lateAnswers answers twice, and only after another request was served.
func lateAnswers(t *check.T, a asking.Asker, method string) {
	asking.Answering(t, method, func(check.Asked) check.ClientAnswer { return check.ClientAnswer{} })
	asking.Renewed(t, method)
	running, err := t.TryStart(a.Method, a.Params)
	if err != nil {
		t.Survives("bad answers to " + method)
		return
	}
	t.Await(running.FrameIndex, func(m wire.Message) bool {
		return m.Method() == method || m.IsResponse() && m.ID().Equal(running.ID)
	})
	if _, ok := t.Try(t.Facts.BarrierMethod, nil).Answer(); !ok {
		t.Fail("an answer to "+t.Facts.BarrierMethod, "none",
			"while it waits for an answer to %s the server answers nothing else", method)
	}
	t.Client().Answer(nil)
	for _, ask := range t.Client().Requests(running.FrameIndex) {
		reply := session.FullHost().Answer(check.Asked{Rev: t.Rev, Method: ask.Method, Params: ask.Params})
		answer := string(session.EncodeResponse(ask.Frame.Message.ID(), reply))
		t.Send(answer)
		t.Send(answer)
	}
	if !asking.WaitForAnswers(t, running) {
		t.Fail("an answer to "+a.Method, "none", "%s asked for %s, which was answered late and twice", a, method)
	}
}
