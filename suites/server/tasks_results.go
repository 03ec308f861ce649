package server

import (
	"reflect"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// createResult: a server may refuse a call, with an error. A result says that
// it did not.
func createResult(t *check.T) {
	seen := false
	for _, tr := range tasked(t).trials {
		m := tr.created.Message
		if m.Kind != wire.Result {
			continue
		}
		if !m.Result().Get("task").IsObject() || m.Result().Get("content").Exists() {
			t.Mark(tr.created.Entry)
			t.Fail("a result with task, without content", m.Summary(), "tool %q was called as a task", tr.name())
		}
		seen = true
	}
	if !seen {
		t.NotObserved("no call as a task was accepted", allowHint(tasked(t).held))
	}
}

// slowEnough is how long a tool must take for the time of its answer to tell
// whether it was waited for.
const slowEnough = 80 * time.Millisecond

// createPrompt objects where making the task takes about as long as the direct
// call does, beyond what any answer takes on its way, and the task has ended right
// then; and that twice, the second time with nothing beside it.
func createPrompt(t *check.T) {
	seen := false
	way := onTheWay(t)
	for _, tr := range needTasks(t) {
		ended := over(tr.early.Message.Result())
		seen = seen || tr.early.Message.Kind == wire.Result && !ended
		work := tr.usual() - way
		if work < slowEnough || !ended || tr.created.took-way < work*4/5 {
			continue
		}
		alone := &taskTrial{tool: tr.tool, args: tr.args}
		making := t.Start("tools/call", asTask(alone, nil))
		alone.created = answered(t, making, t.Timeout())
		alone.early, _ = t.TryFrame("tasks/get", taskParams(alone.id()))
		if alone.created.took-way >= work*4/5 && over(alone.early.Message.Result()) {
			t.Mark(alone.created.Entry)
			t.Fail("the task, as soon as the call is accepted", "the task, when it has ended", "tool %q takes %s; called as a task it was answered after %s, and a %s after %s", tr.name(),
				tr.usual().Round(time.Millisecond), alone.created.took.Round(time.Millisecond), t.Facts.Barrier, way.Round(time.Millisecond))
		}
	}
	if !seen {
		t.NotObserved("no task was still at work when its making was answered", "offer a tool that takes a while as a task")
	}
}

// onTheWay returns the longest that each of a few answers took for which nothing
// has to be done.
func onTheWay(t *check.T) (longest time.Duration) {
	for range 3 {
		began := time.Now()
		_, _ = t.Try(t.Facts.Barrier, nil)
		longest = max(longest, time.Since(began))
	}
	return longest
}

// usual is how long the tool takes without a task, 0 where that is not known.
func (tr *taskTrial) usual() time.Duration {
	if len(tr.direct) == 0 {
		return 0
	}
	least := tr.direct[0].took
	for _, d := range tr.direct {
		least = min(least, d.took)
	}
	return least
}

// noSuchTask is the id of no task, ownTask one that we would have a task get.
const (
	noSuchTask = "mcpcheck-no-such-task"
	ownTask    = "mcpcheck-own-task"
)

// idOwn asks for an id in the member task, where the schema has none.
func idOwn(t *check.T) {
	for _, tr := range needTasks(t) {
		e, err := t.TryFrame("tools/call", asTask(tr, check.Params{"taskId": ownTask}))
		id := e.Message.Result().Get("task.taskId")
		if err != nil || !id.Exists() {
			continue
		}
		if id.String() == ownTask {
			t.Mark(e)
			t.Fail("an id of the server's own", id.Raw, "tool %q was called as a task with an id of the client's, which the task got", tr.name())
		}
		if t.Declares("tasks.cancel") {
			_, _ = t.TryFrame("tasks/cancel", taskParams(id.String()))
		}
		return
	}
	t.NotObserved("no task came of a call that asks for an id", "")
}

func getAnswered(t *check.T) {
	seen := false
	for _, tr := range needTasks(t) {
		if tr.early.Raw == nil {
			continue
		}
		t.Mark(tr.early)
		if got := tr.early.Message.Result().Get("taskId"); got.String() != tr.id() {
			t.Fail("task "+tr.id(), tr.early.Message.Summary(), "tasks/get of the task of tool %q, right after it was made", tr.name())
		}
		seen = true
	}
	if !seen {
		t.Fail("an answer to tasks/get", "none", "tasks/get was not answered")
	}
}

// resultBlocks asks for the task behind its result.
func resultBlocks(t *check.T) {
	seen := false
	for _, tr := range needTasks(t) {
		if tr.result.Raw == nil || tr.late.Message.Kind != wire.Result {
			continue
		}
		if !tr.ended() {
			t.Mark(tr.result)
			t.Fail("an answer when the task has ended", tr.result.Message.Summary(), "tasks/result of the task of tool %q was answered, and then the task is %s", tr.name(), tr.late.Message.Result().Get("status"))
		}
		seen = seen || !over(tr.early.Message.Result())
	}
	if !seen {
		t.NotObserved("no task was at work when its result was asked for", "offer a tool that takes a while as a task")
	}
}

// resultKept: a task that has not outlived its ttl may not be deleted
// (#ttl-and-resource-management), and while it is there its result is due.
func resultKept(t *check.T) {
	seen := false
	for _, tr := range needTasks(t) {
		if !tr.ended() || tr.again.Raw == nil || expired(tr) {
			continue
		}
		if a, b := tr.result.Message, tr.again.Message; !same(a, b) {
			t.Mark(tr.again)
			t.Fail(a.Summary(), b.Summary(), "tasks/result of the task of tool %q was answered in another way the second time", tr.name())
		}
		seen = true
	}
	if !seen {
		t.NotObserved("no task was asked for its result twice after it had ended", "")
	}
}

// expired tells whether the ttl of a task was over when its result was asked
// for again.
func expired(tr *taskTrial) bool {
	ttl := tr.late.Message.Result().Get("ttl")
	return ttl.Type == gjson.Number && tr.again.At-tr.created.At >= time.Duration(ttl.Float())*time.Millisecond
}

// payload is the part of an answer that the call itself gave.
func payload(m wire.Message) []any {
	if m.Kind == wire.Error {
		return []any{m.Error().Get("code").Value(), m.Error().Get("message").Value()}
	}
	r := m.Result()
	return []any{r.Get("content").Value(), r.Get("structuredContent").Value(), r.Get("isError").Bool()}
}

// same tells whether two answers say the same of the call.
func same(a, b wire.Message) bool {
	return a.Kind == b.Kind && reflect.DeepEqual(payload(a), payload(b))
}

// still makes the same trial once more, and tells whether what looked wrong
// does so again: a tool may give something else from one moment to the next.
func (tr *taskTrial) still(t *check.T, wrong func(*taskTrial) bool) bool {
	once := &taskTrial{tool: tr.tool, args: tr.args}
	try(t, once)
	return wrong(once)
}

// alike tells whether the direct calls gave the same answer of a kind twice.
func (tr *taskTrial) alike(kind wire.Kind) bool {
	return len(tr.direct) == 2 && tr.direct[0].Message.Kind == kind && same(tr.direct[0].Message, tr.direct[1].Message)
}

// otherResult, noResult and otherError tell what is wrong with the end of a
// task, where the call without a task shows what is right.
func otherResult(tr *taskTrial) bool {
	return tr.ended() && tr.alike(wire.Result) && tr.result.Message.Kind == wire.Result && !same(tr.direct[0].Message, tr.result.Message)
}

func noResult(tr *taskTrial) bool {
	return tr.ended() && tr.gaveResult() && tr.result.Message.Kind == wire.Error
}

func otherError(tr *taskTrial) bool {
	return tr.ended() && tr.alike(wire.Error) && tr.result.Raw != nil && !same(tr.direct[0].Message, tr.result.Message)
}

// gaveResult tells whether a result came of the call: the task is completed, or
// the call always ends in one.
func (tr *taskTrial) gaveResult() bool {
	return tr.late.Message.Result().Get("status").String() == "completed" || tr.alike(wire.Result)
}

// resultIdentical looks at tools that give the same each time.
func resultIdentical(t *check.T) {
	seen := false
	for _, tr := range needTasks(t) {
		if otherResult(tr) && tr.still(t, otherResult) {
			t.Mark(tr.result)
			t.Fail(tr.direct[0].Message.Summary(), tr.result.Message.Summary(), "tool %q gives the same twice without a task, and another result as one", tr.name())
		}
		seen = seen || tr.ended() && tr.alike(wire.Result) && tr.result.Message.Kind == wire.Result && !otherResult(tr)
	}
	if !seen {
		t.NotObserved("no tool gives the same result twice, and also as a task", "offer a tool with taskSupport optional")
	}
}

// resultResponse: that a task is completed says that a result came of it.
func resultResponse(t *check.T) {
	seen := false
	for _, tr := range needTasks(t) {
		if noResult(tr) && tr.still(t, noResult) {
			t.Mark(tr.result)
			t.Fail("a result", tr.result.Message.Summary(), "the call of tool %q ends in a result, and tasks/result was answered with %s", tr.name(), tr.result.Message.Summary())
		}
		seen = seen || tr.ended() && tr.gaveResult() && tr.result.Message.Kind == wire.Result
	}
	if !seen {
		t.NotObserved("no task came to a result", "")
	}
}

func resultError(t *check.T) {
	seen := false
	for _, tr := range needTasks(t) {
		if otherError(tr) && tr.still(t, otherError) {
			t.Mark(tr.result)
			t.Fail(tr.direct[0].Message.Summary(), tr.result.Message.Summary(), "tool %q without a task is answered with %s, tasks/result with %s", tr.name(), tr.direct[0].Message.Summary(), tr.result.Message.Summary())
		}
		seen = seen || tr.ended() && tr.alike(wire.Error) && tr.result.Message.Kind == wire.Error && !otherError(tr)
	}
	if !seen {
		t.NotObserved("no tool that can be a task is answered with a protocol error", "")
	}
}
