// Package exit finds out on which message a server ended, or since which it hangs, and
// whether that message is valid use of what the server offers.
package exit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An End is the end of a server by itself, or its state when it answers no further
// request.
type End struct {
	Session *session.Session
	Reason  string // in words: "ended (exit status 1)"
	From    int    // first frame of the use that led to it
	// Suspects are the messages of the client that the server may have ended on: the
	// requests without an answer, in order, else the last message.
	Suspects []wire.Entry
	// Alone reports that only the opening of the session preceded the use.
	Alone bool
	// Again says in which circumstances it was repeated; "" if it was not.
	Again string

	// Stderr is the last lines that the server wrote to its standard error before it ended.
	Stderr string

	named func(string) bool
}

// IsSilence reports whether the server runs and does not answer.
func (x *End) IsSilence() bool { return x.Reason == Hangs || x.Reason == Silent }

// Of returns how the server ended in a session by itself, or that it hangs there, if the
// caller saw that; nil if neither. From is the first frame of the use that led to it, and
// the sessions of the pool show what the server offers.
func Of(s *session.Session, from int, hangs bool, pool *session.Pool) *End {
	reason := s.ExitReason()
	switch {
	case reason != "":
		reason = fmt.Sprintf("ended (%s)", reason)
	case hangs:
		reason = Hangs
	default:
		return nil
	}
	alone := isAlone(s, from)
	if alone {
		from = 0 // it may have ended on the opening
	}
	if reason == Hangs {
		return &End{
			Session: s, Reason: reason, From: from, Suspects: hangSuspects(s), named: namedBy(pool.Sessions()),
		}
	}
	return &End{
		Session: s, Reason: reason, From: from, Suspects: suspects(s, from), Alone: alone,
		Stderr: lastLines(s.Stderr()), named: namedBy(pool.Sessions()),
	}
}

// IsOrdinary reports whether a message of the client is valid use of what the server
// offers.
func (x *End) IsOrdinary(e wire.Entry) bool {
	return x.named != nil && isOrdinary(x.Session, e, x.named)
}

// AllOrdinary reports whether all that the client sent is valid use of what the server
// offers.
func (x *End) AllOrdinary() bool {
	for e := range x.Session.Walk(x.From) {
		if e.From == wire.Client && !e.Message.IsResponse() && !x.IsOrdinary(e) {
			return false
		}
	}
	return len(x.Suspects) > 0
}

// isAlone reports whether only the opening of a session precedes a frame.
func isAlone(s *session.Session, from int) bool {
	for e := range s.Walk(0) {
		if e.Index >= from {
			break
		}
		if m := e.Message; e.From == wire.Client && m.Method() != "initialize" && m.Method() != "server/discover" &&
			m.Method() != "notifications/initialized" {
			return false
		}
	}
	return true
}

// maxSuspects bounds how many messages are sent again alone.
const maxSuspects = 4

// suspects returns the messages of the client from a frame on that a peer may have ended
// on.
func suspects(s *session.Session, from int) []wire.Entry {
	var last wire.Entry
	open := map[string]wire.Entry{}
	for e := range s.Walk(from) {
		m := e.Message
		switch {
		case e.From == wire.Server && m.IsResponse():
			delete(open, m.ID().Key())
		case e.From != wire.Client || m.IsResponse():
		case m.Kind == wire.Request:
			open[m.ID().Key()] = e
		default:
			last = e
		}
	}
	out := slices.SortedFunc(maps.Values(open), func(a, b wire.Entry) int { return a.Index - b.Index })
	if last.Raw != nil && (len(out) == 0 || out[0].Message.Method() == s.BarrierMethod()) {
		out = append([]wire.Entry{last}, out...) // a notification before the request that looks for its effect
	}
	return out[:min(len(out), maxSuspects)]
}

// Isolate sends each of the messages that the server may have ended on alone in a new
// instance, if it is valid use and a check reports its method. It returns the end that one of
// them causes; nil if none does.
func (x *End) Isolate(ctx context.Context, pool *session.Pool, reportedBy func(method string) string) *End {
	for _, e := range requestsFirst(x.Suspects) {
		if reportedBy(e.Message.Method()) == "" || !x.IsOrdinary(e) {
			continue
		}
		s, err := pool.NewSession(ctx)
		if err != nil {
			return nil
		}
		at := s.Len()
		if end := Of(s, at, !survives(ctx, s, e.Message), pool); end != nil && ctx.Err() == nil {
			alone, _ := s.Entry(at)
			if !opens(ctx, pool, e.Message.Method()) {
				alone = lastOfOpening(s)
			}
			end.From, end.Suspects, end.Again = alone.Index, []wire.Entry{alone}, "again alone in a new instance"
			return end
		}
		go s.Close()
	}
	return nil
}

// opens reports whether a new session answers a request of some other method than the
// one given: otherwise the server ends on the opening. It is true where there is no such
// method.
func opens(ctx context.Context, pool *session.Pool, but string) bool {
	tried := false
	for _, method := range []string{pool.Rev.Facts().BarrierMethod, "tools/list", "prompts/list", "resources/list"} {
		if method == but {
			continue
		}
		s, err := pool.NewSession(ctx)
		if err != nil {
			return false
		}
		opened := false
		if s.Declares(capabilityOf[method]) {
			_, err := s.Request(ctx, method, nil)
			opened, tried = err == nil || s.ExitReason() == "", true
		}
		s.Kill()
		if opened {
			return true
		}
	}
	return !tried
}

// lastOfOpening returns the last message of the client in the opening of a session.
func lastOfOpening(s *session.Session) (last wire.Entry) {
	for e := range s.Walk(0) {
		if m := e.Message.Method(); m == "initialize" || m == "notifications/initialized" || m == "server/discover" {
			last = e
		}
	}
	return last
}

// requestsFirst returns the messages with the requests before the others: whether a server
// survives a notification is asked by a request.
func requestsFirst(all []wire.Entry) []wire.Entry {
	rank := func(e wire.Entry) int {
		if e.Message.Kind == wire.Request {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b wire.Entry) int { return rank(a) - rank(b) })
}

// survives sends a message with the method and params of another, and reports whether the
// server still answers afterwards.
func survives(ctx context.Context, s *session.Session, m wire.Message) bool {
	params, _ := m.Params().Value().(map[string]any)
	if m.Kind == wire.Request {
		if _, err := s.Request(ctx, m.Method(), params); err == nil {
			return true
		}
	} else if _, err := s.Notify(ctx, m.Method(), params); err != nil {
		return false
	}
	return s.CheckLiveness(ctx) == session.Alive
}

// Describe returns the message that the server ended on.
func (x *End) Describe() string {
	if len(x.Suspects) == 0 {
		return "the end of the session"
	}
	m := x.Suspects[0].Message
	return strings.TrimSpace(m.Method() + " " + wire.Clip(m.Params().Raw, 200))
}

// OnValid returns the end in words, for a message that is valid use.
func (x *End) OnValid() string {
	preposition := map[string]string{Hangs: "after", Silent: "to"}[x.Reason]
	text := fmt.Sprintf("the server %s %s a valid %s: %s", x.Reason, cmp.Or(preposition, "on"),
		x.Suspects[0].Message.Kind, x.Describe())
	if x.Again != "" {
		text += "; " + x.Again
	}
	return text
}

// Method returns the method of the message that the server ended on; "" if none was sent.
func (x *End) Method() string {
	if len(x.Suspects) == 0 {
		return ""
	}
	return x.Suspects[0].Message.Method()
}

// Methods returns the methods of the messages that the server may have ended on, also of
// those that are no valid JSON.
func (x *End) Methods() (all []string) {
	for _, e := range x.Suspects {
		if method := gjson.GetBytes(e.Raw, "method").String(); method != "" {
			all = append(all, method)
		}
	}
	return all
}

// maxReplayed is how many messages of a session are sent again.
const maxReplayed = 400

// Replay sends the messages of the client again that led to an end, in a new session,
// and returns how that ends the server; nil if it does not.
func (x *End) Replay(ctx context.Context, pool *session.Pool) *End {
	s, err := pool.Unopened(ctx)
	if err != nil {
		return nil
	}
	defer s.Kill()
	answered := map[string]bool{}
	for e := range x.Session.Walk(0) {
		if e.From == wire.Server && e.Message.IsResponse() {
			answered[e.Message.ID().Key()] = true
		}
	}
	var last wire.Entry
	sent := 0
	for e := range x.Session.Walk(0) {
		m := e.Message
		if e.From != wire.Client || m.IsResponse() || sent == maxReplayed {
			continue
		}
		sent++
		at, err := s.Send(ctx, e.Raw)
		if err != nil {
			break
		}
		last, _ = s.Entry(at)
		if m.Kind == wire.Request && answered[m.ID().Key()] {
			if _, err := s.AwaitAnswer(ctx, at, m.ID(), pool.Timeout()); err != nil {
				break
			}
		}
	}
	live := s.CheckLiveness(ctx)
	end := Of(s, 0, live == session.OutOfSync, pool)
	if end == nil || ctx.Err() != nil {
		return nil
	}
	end.Suspects, end.Again = []wire.Entry{last}, "again when the messages of the session were sent to a new instance"
	return end
}

// shownLines is the number of lines of a server's standard error that an End has.
const shownLines = 10

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-shownLines):], "\n")
}
