package check

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Asked is one thing that a server asks the client for, and Reply how the
// client answers it; the zero Reply says nothing.
type (
	Asked = session.Asked
	Reply = session.Reply
)

// An Ask is one thing that a server was seen to ask for: a request of its own,
// or an entry of an input_required result (basic/patterns/mrtr).
type Ask struct {
	Method string
	Params gjson.Result
	Key    string     // of the entry; "" for a request
	Frame  wire.Entry // the request, or the result that holds the entry
}

// Asks returns what a message asks the client for; pings are left out.
func Asks(e wire.Entry) []Ask {
	m := e.Message
	switch {
	case m.Kind == wire.Request && m.Method() != "ping":
		return []Ask{{Method: m.Method(), Params: m.Params(), Frame: e}}
	case session.Interim(m):
		var out []Ask
		m.Result().Get("inputRequests").ForEach(func(key, entry gjson.Result) bool {
			out = append(out, Ask{Method: entry.Get("method").String(), Params: entry.Get("params"), Key: key.String(), Frame: e})
			return true
		})
		return out
	}
	return nil
}

// Asks returns what the judged side, a server, asked the client for, in order.
func (j *J) Asks() []Ask {
	return Derived(j, "asks", func() []Ask {
		var out []Ask
		for _, e := range j.Sent() {
			out = append(out, Asks(e)...)
		}
		return out
	})
}

// Asks returns what the server asked for from a frame on.
func (t *T) Asks(from int) []Ask {
	var out []Ask
	for _, e := range t.s.EntriesFrom(from) {
		if e.From != wire.Server {
			continue
		}
		for _, part := range e.Message.Elements() {
			one := e
			one.Message = part
			out = append(out, Asks(one)...)
		}
	}
	return out
}

// Answering lets f answer what the server asks for until the body ends, in
// place of the host that agrees to everything. It is called on another
// goroutine. What f leaves unanswered with the zero Reply the body may answer
// itself by Send.
func (t *T) Answering(f func(Asked) Reply) {
	t.s.Answering(f)
	*t.undo = append(*t.undo, func() { t.s.Answering(nil) })
}

// Invoke sends a request and answers what the server asks for on its behalf,
// in the way of the era, until the answer is complete. It returns the last
// answer; none before the deadline breaks the rule.
func (t *T) Invoke(method string, params Params) wire.Message {
	e, err := t.s.Invoke(t.ctx, method, params)
	t.due(err)
	t.mark = e.Index
	return e.Message
}

// TryInvoke is Invoke for who needs the frame of the last answer, or why none
// came.
func (t *T) TryInvoke(method string, params Params) (wire.Entry, error) {
	e, err := t.s.Invoke(t.ctx, method, params)
	t.interrupted()
	return e, err
}

// TryRounds goes on from a first answer until the answer is complete.
func (t *T) TryRounds(method string, params Params, first wire.Entry) (wire.Entry, error) {
	e, err := t.s.Rounds(t.ctx, method, params, first)
	t.interrupted()
	return e, err
}

// Retry returns the params of the next round of a request after an interim
// result, with what the host answers; ok is false if it answered nothing that
// was asked for.
func (t *T) Retry(params Params, interim gjson.Result) (retry Params, ok bool) {
	return t.s.Retry(params, interim)
}

// Declared returns what we declare as the client of this session.
func (t *T) Declared() Params { return t.s.Declared() }

// AnotherAs returns the handle of a second session, open at the same revision,
// in which we are another host.
func (t *T) AnotherAs(host *session.Host) *T {
	return t.beside(t.pool.FreshAs(t.ctx, host))
}
