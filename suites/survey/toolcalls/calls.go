package toolcalls

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// A Call is one call of a listed tool with arguments that fit its schema.
type Call struct {
	Tool   gjson.Result
	Args   string     // as JSON
	Answer wire.Entry // the result
	Token  string     // the progress token that it gave, as JSON; "" for none

	Reports int           // progress notifications until the result
	Took    time.Duration // from the call to the result
	logs    bool          // a log message came in that time
}

// All is what came of calling the tools that manners allow.
type All struct {
	Results  []Call
	Changes  []watch.Change // that calls made to what the server offers
	Triggers []Call         // calls that changed something, or after which a change was told
	Heard    []watch.Notice // changes that were told
	Held     []string       // tools that were left out by manners
	Frames   []wire.Entry
}

// Bounds of what is called and waited for: enough for every kind of result.
const (
	MaxCalls     = 60
	callsPerTool = 2
	MaxLate      = 2 // calls that are waited for in vain
	maxTriggers  = 6 // calls that are made again, since they change something
)

// Key is the key under which the calls are kept.
var Key = check.NewKey[*All]("tool calls")

// Calls returns what came of calling each tool that may be called, which is
// done once at this revision.
func Calls(t *check.T) *All {
	return check.Once(t, Key, func() *All { return callTools(t, watch.Observe) })
}

// CallUnwatched calls the tools once more, as another client may: what they
// change was looked at before.
func CallUnwatched(t *check.T) {
	callTools(t, func(*check.T) *watch.Observer { return nil })
}

// callTools calls the tools that only read at once, since they cannot disturb
// each other and servers may be slow, then the others one by one, with an eye
// on what they change.
func callTools(t *check.T, observe func(*check.T) *watch.Observer) *All {
	c := &All{}
	RequestAllLogs(t)
	from := t.Len()
	defer func() { c.Frames = t.Frames(from) }()
	var reading, writing []Call
	for _, tool := range offer.Tools(t) {
		switch {
		case !t.Config().MayCall(tool):
			c.Held = append(c.Held, tool.Get("name").String())
			continue
		case offer.OnlyAsTask(t, tool), check.Has(t, offer.SlowTool(tool)):
			continue
		}
		for i, args := range offer.Arguments(t, tool, callsPerTool) {
			one := Call{Tool: tool, Args: args}
			if i == 0 {
				one.Token = fmt.Sprint(len(reading) + len(writing))
			}
			if offer.ReadOnly(tool) {
				reading = append(reading, one)
			} else {
				writing = append(writing, one)
			}
		}
	}
	var o *watch.Observer
	if len(writing) > 0 {
		o = observe(t)
	}
	if o == nil {
		c.read(t, reading)
		for _, one := range writing[:min(len(writing), MaxCalls)] {
			c.call(t, one)
		}
		return c
	}
	defer o.W.Stop()
	begun := o.At
	c.read(t, reading)
	o.Settle()
	for _, one := range writing[:min(len(writing), MaxCalls)] {
		c.call(t, one)
		changes, trigger := o.After(one.Tool.Get("name").String())
		c.Changes = append(c.Changes, changes...)
		if trigger && len(c.Triggers) < maxTriggers {
			c.Triggers = append(c.Triggers, one)
		}
	}
	for _, change := range c.Changes {
		if change.Sent {
			c.Heard = append(c.Heard, change.Notice)
		}
	}
	c.Heard = append(c.Heard, o.W.Events(begun)...)
	return c
}

// read makes the calls of tools that only read, and has those tools run as
// tasks that cannot be called otherwise.
func (c *All) read(t *check.T, calls []Call) {
	c.call(t, calls[:min(len(calls), MaxCalls)]...)
	if slices.ContainsFunc(offer.Tools(t), func(tool gjson.Result) bool { return offer.OnlyAsTask(t, tool) }) {
		c.asTasks(t)
	}
}

// call makes calls at once and takes the results that come soon: they are
// looked at, not required. A tool that takes longer is cancelled, since a long
// run breaks no rule, and not called again.
func (c *All) call(t *check.T, calls ...Call) {
	var running []*check.Call
	for _, one := range calls {
		r, err := t.TryStart("tools/call", one.Params())
		if err != nil {
			return
		}
		running = append(running, r)
	}
	late, patience := 0, t.Timeout()/2
	for i, r := range running {
		e, err := t.TryAnswer(r, patience).Get()
		if err == nil {
			e, err = t.Client().Continue("tools/call", offer.CallParams(calls[i].Tool, calls[i].Args), e).Get()
		}
		switch {
		case err != nil:
			late++
			check.Learn(t, offer.SlowTool(calls[i].Tool))
			t.Cancel(r)
		case e.Message.Kind == wire.Result:
			calls[i].Answer = e
			calls[i].Reports = len(progressFrames(t, calls[i].Token, r.FrameIndex))
			calls[i].logs = LogsBetween(t, r.FrameIndex, e.Index)
			calls[i].Took = e.At - t.Frames(r.FrameIndex)[0].At
			c.Results = append(c.Results, calls[i])
		}
		if patience = t.Timeout() / 4; late >= MaxLate {
			patience = 0
		}
	}
}

// Params are those of the call: with its token, if it has one.
func (c Call) Params() check.Params {
	params := offer.CallParams(c.Tool, c.Args)
	if c.Token != "" {
		params["_meta"] = check.Params{"progressToken": json.RawMessage(c.Token)}
	}
	return params
}

// asTasks adds the results of tools that can only be called as tasks.
func (c *All) asTasks(t *check.T) {
	for _, tr := range taskcalls.Run(t).Trials {
		if offer.OnlyAsTask(t, tr.Tool) && tr.Result.Message.Kind == wire.Result {
			c.Results = append(c.Results, Call{Tool: tr.Tool, Args: tr.Args, Answer: tr.Result})
		}
	}
}

// Again makes the calls that changed something once more, in their order, and
// returns the index of the first frame.
func (c *All) Again(t *check.T) (from int) {
	from = -1
	for _, one := range c.Triggers {
		r, err := t.TryStart("tools/call", offer.CallParams(one.Tool, one.Args))
		if err != nil {
			break
		}
		if from < 0 {
			from = r.FrameIndex
		}
		if _, err := t.TryAnswer(r, t.Timeout()/5).Get(); err != nil {
			t.Cancel(r)
		}
	}
	// What is told of the last call may come behind its answer.
	t.Try(t.Facts.BarrierMethod, nil)
	return from
}

// Walker returns the longest of the calls that can be broken off and are worth the
// time, so that its connection can be broken in its midst.
func (c *All) Walker() (best Call, ok bool) {
	best, ok = c.Worker()
	for _, one := range c.Results {
		if one.Reports >= MinReports && one.Took > best.Took && one.Took <= MaxWork/2 &&
			offer.ReadOnly(one.Tool) == offer.ReadOnly(best.Tool) {
			best = one
		}
	}
	return best, ok
}

// within returns one call of each tool that took no longer, and only reads or
// was seen to log. What reports progress is not called on a mere chance.
func (c *All) within(limit time.Duration) []Call {
	var out []Call
	seen := map[string]bool{}
	for _, one := range c.Results {
		name := one.Tool.Get("name").String()
		if !offer.ReadOnly(one.Tool) && !one.logs || one.Took > limit || limit == quickCall && one.Reports > 0 ||
			seen[name] {
			continue
		}
		seen[name] = true
		one.Token = ""
		out = append(out, one)
	}
	return out
}

func CallsIfDeclared(t *check.T) *All {
	if !t.Declares("tools") {
		return &All{}
	}
	return Calls(t)
}

// Unchanged returns a listed resource of which no change was told, if there is
// one.
func (c *All) Unchanged(t *check.T) []string {
	for _, uri := range watch.ListedURIs(t) {
		if !slices.Contains(c.Heard, watch.Notice{Uri: uri}) {
			return []string{uri}
		}
	}
	return nil
}

// Kinds returns a kind of change and another one, if there are two: a list and a
// resource rather than two lists, and rather of those that calls bring about than
// of those that are only declared.
func (c *All) Kinds(t *check.T) (kind, another watch.Notice) {
	var lists, resources []watch.Notice
	for _, v := range c.Heard {
		if v.List != "" {
			lists = append(lists, v)
		} else if slices.Contains(watch.ListedURIs(t), v.Uri) {
			resources = append(resources, v)
		}
	}
	all := slices.Concat(lists[:min(1, len(lists))], resources, lists)
	for _, list := range watch.DeclaredFilter(t).Lists {
		all = append(all, watch.Notice{List: list})
	}
	if uris := watch.ListedURIs(t); watch.DeclaresUpdates(t) && len(uris) > 0 {
		all = append(all, watch.Notice{Uri: uris[0]})
	}
	if len(all) == 0 {
		return watch.Notice{}, watch.Notice{}
	}
	another = all[0]
	if at := slices.IndexFunc(all, func(v watch.Notice) bool { return v != all[0] }); at > 0 {
		another = all[at]
	}
	return all[0], another
}
