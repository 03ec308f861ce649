package expect

import (
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
)

// RequireReadingOn ends the body if over stdio the server answers nothing after a line that
// is not JSON, which stdio.invalid-line.survived reports: it ends at any line that it cannot
// read.
func RequireReadingOn(t *check.T) {
	if t.Transport() != transport.Stdio {
		return
	}
	t.Send(`{"jsonrpc":"2.0","method":}`)
	if t.Try(t.Facts.BarrierMethod, nil).Err != nil {
		t.NotObserved("the server answers nothing after a line that is not JSON, as stdio.invalid-line.survived judges",
			"")
	}
}

// unexpectedAnswers returns answers that no server expects: a refusal by the user,
// errors of a client that does not know the method or fails, and results that lack
// required members.
func unexpectedAnswers() []struct {
	what  string
	reply check.HostReply
} {
	return []struct {
		what  string
		reply check.HostReply
	}{
		{"error -1 of a user who refused", check.HostReply{Code: -1, Message: "User rejected the request"}},
		{"error -32601", session.MethodNotFoundReply()},
		{"error -32603", check.HostReply{Code: spec.InternalError, Message: "mcpcheck failed inside"}},
		{"an empty result", check.HostReply{Result: check.Params{}}},
		{"a result with a foreign member", check.HostReply{Result: check.Params{"mcpcheck": []any{nil}}}},
	}
}

// SurvivesUnexpectedAnswers gives every kind of unexpected answer to what a request
// requests, one late and twice, and none. The request must be answered nevertheless
// unless it is cancelled, and the server must still answer.
func SurvivesUnexpectedAnswers(t *check.T, method string) {
	a := asking.TriggersFor(t, method)[0]
	for _, b := range unexpectedAnswers() {
		asking.AnswerWith(t, method, func(check.HostRequest) check.HostReply { return b.reply })
		asking.AnnounceRootsChange(t, method)
		if _, err := t.Client().Invoke(a.Method, a.Params).Get(); err != nil {
			t.Fail("an answer to "+a.Method, err.Error(), "%s requested %s and received %s: %v", a, method, b.what, err)
		}
	}
	answerLateAndTwice(t, a, method)
	asking.AnswerWith(t, method, func(check.HostRequest) check.HostReply { return check.HostReply{} })
	asking.AnnounceRootsChange(t, method)
	running, err := t.TryStart(a.Method, a.Params)
	asked := false
	if err == nil {
		_, asked = t.Await(running.FrameIndex, func(m wire.Message) bool { return m.Method() == method })
		t.Cancel(running)
	}
	t.Client().Answer(nil)
	t.Survives("the cancellation of a request while its own request was not answered")
	if asked && method != asking.ListRoots { // a server may request roots for no request of ours
		answerCancelled(t, running.FrameIndex)
	}
	asking.AnswerPending(t) // nothing is left pending at the end of the session
}

// keepsRequests is the trait of a server that does not cancel its requests.
const keepsRequests = "keeps its requests of cancelled requests"

// answerCancelled answers what the server cancelled together with the request that it
// belonged to, as may happen in practice. cancellation.sent.answer judges the reaction
// in every session. If a server cancelled nothing once, it is not awaited again.
func answerCancelled(t *check.T, from int) {
	if check.HasTrait(t, keepsRequests) {
		return
	}
	m, ok := t.Await(from, func(m wire.Message) bool { return m.Method() == "notifications/cancelled" }, t.Timeout()/20)
	if !ok {
		check.SetTrait(t, keepsRequests)
		return
	}
	for _, ask := range t.Client().Requests(from) {
		if id := ask.Frame.Message.ID(); ask.Key == "" && id.Raw == m.Params().Get("requestId").Raw {
			t.Send(string(session.EncodeResponse(id,
				check.HostReply{Code: spec.InternalError, Message: "mcpcheck answers too late"})))
			t.Survives("an answer to a request that it had cancelled")
		}
	}
}

// answerLateAndTwice answers twice, and only after another request was answered.
func answerLateAndTwice(t *check.T, a asking.Trigger, method string) {
	asking.AnswerWith(t, method, func(check.HostRequest) check.HostReply { return check.HostReply{} })
	asking.AnnounceRootsChange(t, method)
	running, err := t.TryStart(a.Method, a.Params)
	if err != nil {
		t.Survives("unexpected answers to " + method)
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
		reply := session.FullHost().Answer(check.HostRequest{Rev: t.Rev, Method: ask.Method, Params: ask.Params})
		answer := string(session.EncodeResponse(ask.Frame.Message.ID(), reply))
		t.Send(answer)
		t.Send(answer)
	}
	if !asking.AnswerAndWait(t, running) {
		t.Fail("an answer to "+a.Method, "none", "%s requested %s, which was answered late and twice", a, method)
	}
}
