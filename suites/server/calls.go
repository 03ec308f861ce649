package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A toolCall is one call of a listed tool with arguments that fit its schema.
type toolCall struct {
	tool   gjson.Result
	args   string     // as JSON
	answer wire.Entry // the result
	token  string     // the progress token that it gave, as JSON; "" for none

	reports int           // progress notifications until the result
	took    time.Duration // from the call to the result
	logs    bool          // a log message came in that time
}

// toolCalls is what came of calling the tools that manners allow.
type toolCalls struct {
	results  []toolCall
	changes  []change   // that calls made to what the server offers
	triggers []toolCall // calls that changed something, or after which a change was told
	heard    []told     // changes that were told
	held     []string   // tools that were left out by manners
	frames   []wire.Entry
}

// Bounds of what is called and waited for: enough for every kind of result.
const (
	maxCalls     = 60
	callsPerTool = 2
	maxLate      = 2 // calls that are waited for in vain
	maxTriggers  = 6 // calls that are made again, since they change something
)

// calledTools is the key under which the calls are kept.
const calledTools = "tools/call"

// called returns what came of calling each tool that may be called, which is
// done once at this revision.
func called(t *check.T) *toolCalls {
	return check.Memo(t, calledTools, func() *toolCalls { return callTools(t, observe) })
}

// calledUnwatched calls the tools once more, as another client may: what they
// change was looked at before.
func calledUnwatched(t *check.T) {
	callTools(t, func(*check.T) *observer { return nil })
}

// callTools calls the tools that only read at once, since they cannot disturb
// each other and servers may be slow, then the others one by one, with an eye
// on what they change.
func callTools(t *check.T, observe func(*check.T) *observer) *toolCalls {
	c := &toolCalls{}
	loudly(t)
	from := t.Len()
	defer func() { c.frames = t.Frames(from) }()
	var reading, writing []toolCall
	for _, tool := range knownTools(t) {
		switch {
		case !t.MayCall(tool):
			c.held = append(c.held, tool.Get("name").String())
			continue
		case onlyAsTask(t, tool), t.Learnt(slow(tool)):
			continue
		}
		for i, args := range arguments(t, tool, callsPerTool) {
			one := toolCall{tool: tool, args: args}
			if i == 0 {
				one.token = fmt.Sprint(len(reading) + len(writing))
			}
			if readOnly(tool) {
				reading = append(reading, one)
			} else {
				writing = append(writing, one)
			}
		}
	}
	var o *observer
	if len(writing) > 0 {
		o = observe(t)
	}
	if o == nil {
		c.read(t, reading)
		for _, one := range writing[:min(len(writing), maxCalls)] {
			c.call(t, one)
		}
		return c
	}
	defer o.w.stop()
	begun := o.at
	c.read(t, reading)
	o.settle()
	for _, one := range writing[:min(len(writing), maxCalls)] {
		c.call(t, one)
		changes, trigger := o.after(one.tool.Get("name").String())
		c.changes = append(c.changes, changes...)
		if trigger && len(c.triggers) < maxTriggers {
			c.triggers = append(c.triggers, one)
		}
	}
	for _, change := range c.changes {
		if change.sent {
			c.heard = append(c.heard, change.told)
		}
	}
	c.heard = append(c.heard, o.w.events(begun)...)
	return c
}

// read makes the calls of tools that only read, and has those tools run as
// tasks that cannot be called otherwise.
func (c *toolCalls) read(t *check.T, calls []toolCall) {
	c.call(t, calls[:min(len(calls), maxCalls)]...)
	if slices.ContainsFunc(knownTools(t), func(tool gjson.Result) bool { return onlyAsTask(t, tool) }) {
		c.asTasks(t)
	}
}

// call makes calls at once and takes the results that come soon: they are
// looked at, not required. A tool that takes longer is cancelled, since a long
// run breaks no rule, and not called again.
func (c *toolCalls) call(t *check.T, calls ...toolCall) {
	var running []*check.Call
	for _, one := range calls {
		r, err := t.TryStart("tools/call", one.params())
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
			t.Cancel(r)
		case e.Message.Kind == wire.Result:
			calls[i].answer = e
			calls[i].reports = len(reportsOf(t, calls[i].token, r.Sent))
			calls[i].logs = logsBetween(t, r.Sent, e.Index)
			calls[i].took = e.At - t.Frames(r.Sent)[0].At
			c.results = append(c.results, calls[i])
		}
		if patience = t.Timeout() / 4; late >= maxLate {
			patience = 0
		}
	}
}

// params are those of the call: with its token, if it has one.
func (c toolCall) params() check.Params {
	params := callParams(c.tool, c.args)
	if c.token != "" {
		params["_meta"] = check.Params{"progressToken": json.RawMessage(c.token)}
	}
	return params
}

// asTasks adds the results of tools that can only be called as tasks.
func (c *toolCalls) asTasks(t *check.T) {
	for _, tr := range tasked(t).trials {
		if onlyAsTask(t, tr.tool) && tr.result.Message.Kind == wire.Result {
			c.results = append(c.results, toolCall{tool: tr.tool, args: tr.args, answer: tr.result})
		}
	}
}

// slow is what is learnt of a tool that takes long.
func slow(tool gjson.Result) string { return "slow tool " + tool.Get("name").String() }

// again makes the calls that changed something once more, in their order, and
// returns the index of the first frame.
func (c *toolCalls) again(t *check.T) (from int) {
	from = -1
	for _, one := range c.triggers {
		r, err := t.TryStart("tools/call", callParams(one.tool, one.args))
		if err != nil {
			break
		}
		if from < 0 {
			from = r.Sent
		}
		if _, err := t.TryAnswer(r, t.Timeout()/5); err != nil {
			t.Cancel(r)
		}
	}
	// What is told of the last call may come behind its answer.
	_, _ = t.Try(t.Facts.Barrier, nil)
	return from
}

// sameSet tells whether two lists hold the same names, in any order.
func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
