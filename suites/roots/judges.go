package roots

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges returns the judges of client/roots.
func judges() []check.Check {
	params := transcript.ShapeChecks([]transcript.ShapeCheck{{
		Check: check.Check{
			ID:    "roots.request.params",
			Says:  "the params of roots/list are an object, if there are any",
			In:    spec.Every,
			Rules: []string{"roots-request-no-required-params"},
			Idle:  noRequest,
			Hint:  requestRoots,
		},
		Method: asking.ListRoots,
	}}, nil)
	judgeShape := params[0].Judge
	params[0].Judge = func(j *check.J) {
		judgeParamsType(j)
		judgeShape(j)
	}
	return append(params, check.Check{
		ID:    "roots.cached",
		Says:  "the server does not request the roots twice on behalf of one request",
		Level: spec.Should,
		In:    spec.Handshake,
		Rules: []string{"roots-server-caches"},
		Idle:  "the server requested no roots on behalf of a single open request",
		Hint:  requestRoots,
		// A server with a cache may request the roots once at the start of the session and
		// once for each change, also while a request is open. What it requests beyond that is
		// on behalf of the only open request: a second time, after it received roots and
		// without a change, breaks the rule.
		Judge: func(j *check.J) {
			u := newRootsUse()
			for _, e := range j.Entries() {
				for _, m := range e.Message.Elements() {
					u.add(j, e, m)
				}
			}
		},
	})
}

// judgeParamsType judges requests for roots whose params are no object: the schema
// does not describe them.
func judgeParamsType(j *check.J) {
	for _, e := range j.Sent() {
		for _, m := range e.Message.Elements() {
			if transcript.IsRootsRequest(j, m) && m.EnvelopeError != nil && m.EnvelopeError.Member == "params" {
				j.Fail(e, "the request roots/list: %s", m.EnvelopeError.Problem)
			}
		}
	}
}

// A rootsUse is what a session says of the roots up to a message.
type rootsUse struct {
	open      map[string]bool // ids of open requests of the client
	requested map[string]bool // ids of requests for roots on behalf of one of those
	received  bool            // the only open request received roots
	seen      map[string]bool // requests for roots, which HTTP may deliver twice
	allowed   int             // requests that the server may send on its own account
}

func newRootsUse() *rootsUse {
	return &rootsUse{open: map[string]bool{}, requested: map[string]bool{}, seen: map[string]bool{}, allowed: 1}
}

// add judges a message and adds it.
func (u *rootsUse) add(j *check.J, e wire.Entry, m wire.Message) {
	switch key := m.ID().Key(); {
	case m.Method() == "notifications/roots/list_changed":
		u.received = false
		u.allowed++
	case e.From != j.Of && m.Kind == wire.Request:
		if m.Method() != "initialize" { // lifecycle checks judge requests during the opening
			u.open[key] = true
		}
		u.received = false
	case e.From == j.Of && m.IsResponse():
		delete(u.open, key)
		u.received = false
	case e.From == j.Of && m.Method() == asking.ListRoots:
		u.addRequest(j, e, m)
	case e.From != j.Of && m.Kind == wire.Result && u.requested[key]:
		u.received = len(u.open) == 1
	}
}

// addRequest judges a request for roots and adds it.
func (u *rootsUse) addRequest(j *check.J, e wire.Entry, m wire.Message) {
	switch raw := string(m.Raw); {
	case e.HTTP != nil && u.seen[raw]:
	case u.allowed > 0:
		u.seen[raw] = true
		u.allowed--
	case isOnListeningStream(j, e):
	default:
		u.seen[raw], u.requested[m.ID().Key()] = true, true
		switch {
		case u.received:
			j.Fail(e, "the server requests the roots again during one request, and they did not change")
		case len(u.open) == 1:
			j.Saw()
		}
	}
}

// isOnListeningStream reports whether a request of the server came on a stream that no
// request of the client opened: on whose behalf, and when it was sent, is not known.
func isOnListeningStream(j *check.J, e wire.Entry) bool {
	x := j.ExchangeOf(e)
	isResponse := func(answer wire.Entry) bool { return answer.Message.IsResponse() }
	return x != nil && len(x.PostedMessages()) == 0 && !slices.ContainsFunc(x.Body, isResponse)
}
