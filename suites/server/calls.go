package server

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A call is one call of a listed tool with arguments that fit its schema.
type call struct {
	tool   gjson.Result
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
	results []call
	changes []listChange
	held    []string // tools that were left out by manners
}

// Bounds of what is called: enough for every kind of result, and a slow
// server is not kept busy for long.
const (
	maxCalls     = 60
	callsPerTool = 2
)

// called returns what came of calling each tool that may be called, which is
// done once at this revision.
func called(t *check.T) *toolCalls {
	return check.Memo(t, "tools/call", func() *toolCalls { return callTools(t) })
}

func callTools(t *check.T) *toolCalls {
	c := &toolCalls{}
	tools := knownTools(t)
	watching := t.Declares("tools.listChanged") && slices.ContainsFunc(tools, func(tool gjson.Result) bool { return !readOnly(tool) && t.MayCall(tool) })
	if watching {
		stop, ok := listen(t, check.Params{"toolsListChanged": true})
		defer stop()
		watching = ok
	}
	until := time.Now().Add(3 * t.Timeout())
	n := 0
	for _, tool := range tools {
		if !t.MayCall(tool) {
			c.held = append(c.held, tool.Get("name").String())
			continue
		}
		if onlyAsTask(tool) {
			continue
		}
		for _, args := range arguments(tool, callsPerTool) {
			if n++; n > maxCalls || time.Now().After(until) || t.Over() != nil {
				return c
			}
			if watching && !readOnly(tool) {
				c.watched(t, tool, args)
			} else {
				c.call(t, tool, args)
			}
		}
	}
	return c
}

// call calls a tool. One that takes longer than an answer may is cancelled: a
// long run breaks no rule.
func (c *toolCalls) call(t *check.T, tool gjson.Result, args string) {
	running, err := t.TryStart("tools/call", callParams(tool, args))
	if err != nil {
		return
	}
	switch e, err := t.TryAnswer(running); {
	case err != nil:
		cancel(t, running)
	case e.Message.Kind == wire.Result:
		c.results = append(c.results, call{tool, e})
	}
}

// cancel withdraws a request; if the connection is over there is nothing to
// withdraw.
func cancel(t *check.T, running *check.Call) {
	_ = t.TryNotify("notifications/cancelled", check.Params{"requestId": json.RawMessage(running.ID.Raw)})
}

// watched calls a tool between two looks at the list of tools, and where that
// changed waits for the notification that should tell.
func (c *toolCalls) watched(t *check.T, tool gjson.Result, args string) {
	before := walkNow(t, toolsList)
	c.call(t, tool, args)
	after := walkNow(t, toolsList)
	if !before.whole() || !after.whole() || sameSet(toolsList.names(before.items()), toolsList.names(after.items())) {
		return
	}
	_, sent := t.Await(before.last.Index, func(m wire.Message) bool { return m.Method() == "notifications/tools/list_changed" })
	c.changes = append(c.changes, listChange{tool.Get("name").String(), after.last, sent})
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
