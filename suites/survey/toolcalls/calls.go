package toolcalls

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// A Call is one call of a listed tool with arguments that are valid under its schema.
type Call struct {
	Tool   gjson.Result
	Args   string     // as JSON
	Answer wire.Entry // the result
	Token  string     // the progress token of the call, as JSON; "" for none

	Reports   int           // progress notifications until the result
	Took      time.Duration // from the call to the result
	hasLogged bool          // a log message arrived in that time
}

// Outcome is the outcome of calling the tools that may be called.
type Outcome struct {
	Results    []Call
	Changes    []watch.Change // that calls made
	Triggers   []Call         // calls that changed something or were followed by a notification of change
	Announced  []watch.Notice // changes that notifications announced
	NotAllowed []string       // tools that may not be called
	Frames     []wire.Entry
}

// Bounds of the calls and of the waits: enough for every kind of result.
const (
	MaxCalls     = 60
	callsPerTool = 2
	MaxLate      = 2 // calls without a quick answer, after which no other is awaited
	maxTriggers  = 6 // calls that are repeated because they change something
)

// CallsKey is the key of the result of Calls.
var CallsKey = check.NewKey[*Outcome]("tool calls")

// Calls calls each tool that may be called, once for this revision, and returns the
// outcome.
func Calls(t *check.T) *Outcome {
	return check.Once(t, CallsKey, func() *Outcome {
		c := callTools(t, watch.Observe)
		c.callFound(t)
		return c
	})
}

// CallUnwatched calls the tools once more, as another client may. It does not look for
// changes, which Calls does.
func CallUnwatched(t *check.T) {
	callTools(t, func(*check.T) *watch.Observer { return nil })
}

// newToken returns a progress token. The first one is 0, which a server may take for none.
func newToken(t *check.T, first bool) string {
	if first {
		return "0"
	}
	return t.NextID().Raw
}

// callTools calls the read-only tools all at once, because they cannot disturb each
// other and servers may be slow. Then it calls the others one by one and observes what
// they change.
func callTools(t *check.T, observe func(*check.T) *watch.Observer) *Outcome {
	c := &Outcome{}
	RequestAllLogs(t)
	from := t.Len()
	defer func() { c.Frames = slices.Collect(t.Frames(from)) }()
	var reading, writing []Call
	for _, tool := range offer.Tools(t) {
		switch {
		case !t.Config().MayCall(tool):
			c.NotAllowed = append(c.NotAllowed, tool.Get("name").String())
			continue
		case offer.RequiresTask(t, tool), check.HasTrait(t, offer.SlowTool(tool)):
			continue
		}
		for i, args := range offer.Arguments(t, tool, callsPerTool) {
			one := Call{Tool: tool, Args: args}
			if i == 0 {
				one.Token = newToken(t, len(reading)+len(writing) == 0)
			}
			if offer.IsReadOnly(tool) {
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
		c.callReadOnly(t, reading)
		for _, one := range writing[:min(len(writing), MaxCalls)] {
			c.call(t, one)
		}
		return c
	}
	defer o.Watch.Stop()
	begun := o.At
	c.callReadOnly(t, reading)
	o.ExcludeVolatile()
	for _, one := range writing[:min(len(writing), MaxCalls)] {
		c.call(t, one)
		changes, trigger := o.ChangesAfter(one.Tool.Get("name").String())
		c.Changes = append(c.Changes, changes...)
		if trigger && len(c.Triggers) < maxTriggers {
			c.Triggers = append(c.Triggers, one)
		}
	}
	for _, change := range c.Changes {
		if change.Sent {
			c.Announced = append(c.Announced, change.Notice)
		}
	}
	c.Announced = append(c.Announced, o.Watch.Events(begun)...)
	return c
}

// callReadOnly calls the read-only tools, and runs as tasks the tools that require it.
func (c *Outcome) callReadOnly(t *check.T, calls []Call) {
	c.call(t, calls[:min(len(calls), MaxCalls)]...)
	if slices.ContainsFunc(offer.Tools(t), func(tool gjson.Result) bool { return offer.RequiresTask(t, tool) }) {
		c.addTaskResults(t)
	}
}

// call sends calls at once and takes the results that arrive soon. A tool that takes
// longer is cancelled and not called again: no rule forbids long runs.
func (c *Outcome) call(t *check.T, calls ...Call) {
	var running []*check.Call
	for _, one := range calls {
		r, err := t.TryStart("tools/call", one.Params())
		if err != nil {
			break // the server has ended, maybe by a call before
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
			if t.Over() == nil {
				check.SetTrait(t, offer.SlowTool(calls[i].Tool))
			}
			t.Cancel(r)
		case e.Message.Kind == wire.Result:
			calls[i].Answer = e
			calls[i].Reports = len(progressFrames(t, calls[i].Token, r.FrameIndex))
			calls[i].hasLogged = HasLogsBetween(t, r.FrameIndex, e.Index)
			calls[i].Took = e.At - check.FrameAt(t, r.FrameIndex).At
			c.Results = append(c.Results, calls[i])
		}
		if patience = t.Timeout() / 4; late >= MaxLate {
			patience = 0
		}
	}
}

// Params returns the params of the call, with its progress token if it has one.
func (c Call) Params() check.Params {
	params := offer.CallParams(c.Tool, c.Args)
	if c.Token != "" {
		params["_meta"] = check.Params{"progressToken": json.RawMessage(c.Token)}
	}
	return params
}

// addTaskResults adds the results of tools that can only be called as tasks.
func (c *Outcome) addTaskResults(t *check.T) {
	for _, tr := range taskcalls.Run(t).Trials {
		if offer.RequiresTask(t, tr.Tool) && tr.Result.Message.Kind == wire.Result {
			c.Results = append(c.Results, Call{Tool: tr.Tool, Args: tr.Args, Answer: tr.Result})
		}
	}
}

// RepeatChanges repeats the calls that changed something, in their order, and returns
// the index of the first frame.
func (c *Outcome) RepeatChanges(t *check.T) (from int) {
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
	// A notification of the last change may come after the answer.
	t.Try(t.Facts.BarrierMethod, nil)
	return from
}

// LongestCancellable returns the longest call that can be cancelled and takes an
// acceptable time, so that its connection can be broken while it runs.
func (c *Outcome) LongestCancellable() (best Call, ok bool) {
	best, ok = c.ShortestCancellable()
	for _, one := range c.Results {
		if one.Reports >= MinReports && one.Took > best.Took && one.Took <= MaxWork/2 &&
			offer.IsReadOnly(one.Tool) == offer.IsReadOnly(best.Tool) {
			best = one
		}
	}
	return best, ok
}

// quickCalls returns one call of each tool that took no longer than limit and is
// read-only or has logged. With the limit quickCall it leaves out tools that report
// progress.
func (c *Outcome) quickCalls(limit time.Duration) []Call {
	var out []Call
	seen := map[string]bool{}
	for _, one := range c.Results {
		name := one.Tool.Get("name").String()
		if !offer.IsReadOnly(one.Tool) && !one.hasLogged || one.Took > limit || limit == quickCall && one.Reports > 0 ||
			seen[name] {
			continue
		}
		seen[name] = true
		one.Token = ""
		out = append(out, one)
	}
	return out
}

// CallsIfDeclared is like Calls, and returns an empty outcome for a server without
// tools.
func CallsIfDeclared(t *check.T) *Outcome {
	if !t.Declares("tools") {
		return &Outcome{}
	}
	return Calls(t)
}

// UnchangedResource returns a listed resource without an announced change, if there is
// one.
func (c *Outcome) UnchangedResource(t *check.T) []string {
	for _, uri := range watch.ListedURIs(t) {
		if !slices.Contains(c.Announced, watch.Notice{URI: uri}) {
			return []string{uri}
		}
	}
	return nil
}

// TwoKinds returns two kinds of change, which are equal if there is only one. It
// prefers a list with a resource to two lists, and kinds that calls bring about to
// kinds that are only declared.
func (c *Outcome) TwoKinds(t *check.T) (kind, another watch.Notice) {
	var lists, resources []watch.Notice
	for _, v := range c.Announced {
		if v.List != "" {
			lists = append(lists, v)
		} else if slices.Contains(watch.ListedURIs(t), v.URI) {
			resources = append(resources, v)
		}
	}
	all := slices.Concat(lists[:min(1, len(lists))], resources, lists)
	for _, list := range watch.DeclaredFilter(t).Lists {
		all = append(all, watch.Notice{List: list})
	}
	if uris := watch.ListedURIs(t); watch.DeclaresUpdates(t) && len(uris) > 0 {
		all = append(all, watch.Notice{URI: uris[0]})
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
