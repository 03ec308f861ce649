package server

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A toolCall is one call of a listed tool with arguments that fit its schema.
type toolCall struct {
	tool   gjson.Result
	args   string     // as JSON
	answer wire.Entry // the result
}

// A listChange is what a call did to the list of tools.
type listChange struct {
	tool string
	seen wire.Entry // the list that shows it
	told bool       // by a notification
}

// toolCalls is what came of calling the tools that manners allow.
type toolCalls struct {
	results []toolCall
	changes []listChange
	held    []string // tools that were left out by manners
}

// Bounds of what is called and waited for: enough for every kind of result.
const (
	maxCalls     = 60
	callsPerTool = 2
	maxLate      = 2 // calls that are waited for in vain
)

// called returns what came of calling each tool that may be called, which is
// done once at this revision.
func called(t *check.T) *toolCalls {
	return check.Memo(t, "tools/call", func() *toolCalls { return callTools(t) })
}

// callTools calls the tools that only read at once, since they cannot disturb
// each other and servers may be slow, then the others one by one.
func callTools(t *check.T) *toolCalls {
	c := &toolCalls{}
	tools := knownTools(t)
	watching := t.Declares("tools.listChanged") && slices.ContainsFunc(tools, func(tool gjson.Result) bool { return !readOnly(tool) && t.MayCall(tool) })
	if watching {
		stop, ok := listen(t, check.Params{"toolsListChanged": true})
		defer stop()
		watching = ok
	}
	var reading, writing []toolCall
	for _, tool := range tools {
		switch {
		case !t.MayCall(tool):
			c.held = append(c.held, tool.Get("name").String())
			continue
		case onlyAsTask(tool), t.Learnt(slow(tool)):
			continue
		}
		for _, args := range arguments(tool, callsPerTool) {
			if readOnly(tool) {
				reading = append(reading, toolCall{tool: tool, args: args})
			} else {
				writing = append(writing, toolCall{tool: tool, args: args})
			}
		}
	}
	c.call(t, reading[:min(len(reading), maxCalls)]...)
	for _, one := range writing[:min(len(writing), maxCalls)] {
		if watching {
			c.watched(t, one)
		} else {
			c.call(t, one)
		}
	}
	return c
}

// call makes calls at once and takes the results that come soon: they are
// looked at, not required. A tool that takes longer is cancelled, since a long
// run breaks no rule, and not called again.
func (c *toolCalls) call(t *check.T, calls ...toolCall) {
	var running []*check.Call
	for _, one := range calls {
		r, err := t.TryStart("tools/call", callParams(one.tool, one.args))
		if err != nil {
			return
		}
		running = append(running, r)
	}
	late, patience := 0, t.Timeout()/2
	for i, r := range running {
		e, err := t.TryAnswer(r, patience)
		if err == nil {
			e, err = t.TryRounds("tools/call", callParams(calls[i].tool, calls[i].args), e)
		}
		switch {
		case err != nil:
			late++
			t.Learn(slow(calls[i].tool))
			cancel(t, r)
		case e.Message.Kind == wire.Result:
			calls[i].answer = e
			c.results = append(c.results, calls[i])
		}
		if patience = t.Timeout() / 5; late >= maxLate {
			patience = 0
		}
	}
}

// slow is what is learnt of a tool that takes long.
func slow(tool gjson.Result) string { return "slow tool " + tool.Get("name").String() }

// cancel withdraws a request; if the connection is over there is nothing to
// withdraw.
func cancel(t *check.T, running *check.Call) {
	_ = t.TryNotify("notifications/cancelled", check.Params{"requestId": json.RawMessage(running.ID.Raw)})
}

// watched calls a tool between two looks at the list of tools, and where that
// changed waits for the notification that should tell.
func (c *toolCalls) watched(t *check.T, one toolCall) {
	before := walkNow(t, toolsList)
	c.call(t, one)
	after := walkNow(t, toolsList)
	if !before.whole() || !after.whole() || sameSet(toolsList.names(before.items()), toolsList.names(after.items())) {
		return
	}
	_, sent := t.Await(before.last.Index, func(m wire.Message) bool { return m.Method() == "notifications/tools/list_changed" })
	c.changes = append(c.changes, listChange{one.tool.Get("name").String(), after.last, sent})
}

// sameSet tells whether two lists hold the same names, in any order.
func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// listen asks for notifications of change where they are sent only on demand
// (basic/patterns/subscriptions, since 2026-07-28). ok tells whether they may
// come; stop ends the subscription.
func listen(t *check.T, what check.Params) (stop func(), ok bool) {
	if !t.Facts.Stateless {
		return func() {}, true
	}
	running, err := t.TryStart("subscriptions/listen", check.Params{"notifications": what})
	if err != nil {
		return func() {}, false
	}
	m, ok := t.Await(running.Sent, func(m wire.Message) bool {
		return m.Method() == "notifications/subscriptions/acknowledged" || m.IsResponse() && m.ID().Equal(running.ID)
	})
	return func() { cancel(t, running) }, ok && !m.IsResponse()
}
