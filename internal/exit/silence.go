package exit

import (
	"context"
	"errors"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The Reasons of a server that runs and does not answer.
const (
	Hangs  = "answers no further request" // since some request
	Silent = "gives no answer"            // to one request; it answers others
)

// silentMethods are the methods whose requests a server should answer in the time for an
// answer. Tools may run for long, and checks of their own judge lists and the barrier.
var silentMethods = []string{"prompts/get", "resources/read", "completion/complete"}

// SilenceOf returns that the server does not answer requests of a session since a frame,
// while it answers others; nil if there is none.
func SilenceOf(s *session.Session, from int, pool *session.Pool) *End {
	open, _ := unanswered(s)
	open = slices.DeleteFunc(open, func(e wire.Entry) bool {
		return e.Index < from || !slices.Contains(silentMethods, e.Message.Method())
	})
	if len(open) == 0 {
		return nil
	}
	return &End{
		Session: s, Reason: Silent, From: from, Suspects: open[:min(len(open), maxSuspects)],
		named: namedBy(pool.Sessions()),
	}
}

// unanswered returns the requests of the client without an answer, and the index of the
// last one that has an answer.
func unanswered(s *session.Session) (open []wire.Entry, lastAnswered int) {
	sent := map[string]wire.Entry{}
	for e := range s.Walk(0) {
		switch m := e.Message; {
		case e.From == wire.Client && m.Kind == wire.Request && m.Method() != "subscriptions/listen":
			sent[m.ID().Key()] = e
		case e.From == wire.Server && m.IsResponse():
			if request, ok := sent[m.ID().Key()]; ok {
				lastAnswered = max(lastAnswered, request.Index)
				delete(sent, m.ID().Key())
			}
		}
	}
	for _, e := range sent {
		open = append(open, e)
	}
	slices.SortFunc(open, func(a, b wire.Entry) int { return a.Index - b.Index })
	return open, lastAnswered
}

// hangSuspects returns the requests since which a server may hang: the first ones after
// the last request that it answered, then the last ones before it.
func hangSuspects(s *session.Session) []wire.Entry {
	open, last := unanswered(s)
	at := slices.IndexFunc(open, func(e wire.Entry) bool { return e.Index > last })
	if at < 0 {
		at = len(open)
	}
	before, after := slices.Clone(open[:at]), open[at:]
	slices.Reverse(before)
	return slices.Concat(after[:min(len(after), maxSuspects/2)], before[:min(len(before), maxSuspects/2)])
}

// IsolateSilence sends each of the requests alone in a new instance that the server may
// have gone silent on, if it is valid use and a check reports its method. It returns the
// silence that one of them causes; nil if none does. A server that hangs has to answer
// another request in another instance, or it hangs on anything.
func (x *End) IsolateSilence(
	ctx context.Context, pool *session.Pool, reportedBy func(method string) string,
) *End {
	if x.Reason == Hangs && !serves(ctx, pool) {
		return nil
	}
	for _, e := range x.Suspects {
		m := e.Message
		if reportedBy(m.Method()) == "" || !x.IsOrdinary(e) {
			continue
		}
		s, err := pool.NewSession(ctx)
		if err != nil {
			return nil
		}
		params, _ := m.Params().Value().(map[string]any)
		call, err := s.Start(ctx, m.Method(), params)
		if err != nil || !x.isRepeated(ctx, s, call) || ctx.Err() != nil {
			pool.Forget(s)
			continue
		}
		sent, _ := s.Entry(call.FrameIndex)
		return &End{
			Session: s, Reason: x.Reason, From: sent.Index, Suspects: []wire.Entry{sent},
			Again: "again alone in a new instance", Stderr: lastLines(s.Stderr()),
		}
	}
	return nil
}

// isRepeated reports whether a server goes silent on a call as it did before.
func (x *End) isRepeated(ctx context.Context, s *session.Session, call *session.Call) bool {
	if x.Reason == Hangs {
		if s.CheckLiveness(ctx) != session.OutOfSync {
			return false
		}
		_, err := s.AwaitAnswer(ctx, call.FrameIndex, call.ID, 0)
		return err != nil
	}
	_, err := call.Answer(ctx)
	var none *session.NoAnswerError
	return errors.As(err, &none) && none.IsTimeout() && none.State == session.Mute
}

// serves reports whether a new instance answers a request.
func serves(ctx context.Context, pool *session.Pool) bool {
	s, err := pool.NewSession(ctx)
	if err != nil {
		return false
	}
	defer pool.Forget(s)
	return s.CheckLiveness(ctx) == session.Alive
}
