package tasks

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// createResult: a server may refuse a call, with an error. A result says that
// it did not.
func createResult(t *check.T) {
	seen := false
	for _, tr := range taskcalls.Run(t).Trials {
		m := tr.Created.Message
		if m.Kind != wire.Result {
			continue
		}
		if !m.Result().Get("task").IsObject() || m.Result().Get("content").Exists() {
			t.Mark(tr.Created.Entry)
			t.Fail("a result with task, without content", m.Summary(), "tool %q was called as a task", tr.Name())
		}
		seen = true
	}
	if !seen {
		t.NotObserved("no call as a task was accepted", check.AllowHint(taskcalls.Run(t).Held))
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
	for _, tr := range taskcalls.Needed(t) {
		ended := taskcalls.IsFinal(tr.Early.Message.Result())
		seen = seen || tr.Early.Message.Kind == wire.Result && !ended
		work := tr.Usual() - way
		if work < slowEnough || !ended || tr.Created.Took-way < work*4/5 {
			continue
		}
		alone := &taskcalls.Task{Tool: tr.Tool, Args: tr.Args}
		making := t.Start("tools/call", taskcalls.CallParams(alone, nil))
		alone.Created = taskcalls.AnswerTo(t, making, t.Timeout())
		alone.Early, _ = t.TryFrame("tasks/get", taskcalls.TaskParams(alone.Id()))
		if alone.Created.Took-way >= work*4/5 && taskcalls.IsFinal(alone.Early.Message.Result()) {
			t.Mark(alone.Created.Entry)
			t.Fail("the task, as soon as the call is accepted", "the task, when it has ended", "tool %q takes %s; called as a task it was answered after %s, and a %s after %s", tr.Name(),
				tr.Usual().Round(time.Millisecond), alone.Created.Took.Round(time.Millisecond), t.Facts.Barrier, way.Round(time.Millisecond))
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

// noSuchTask is the id of no task, ownTask one that we would have a task get.
const (
	noSuchTask = "mcpcheck-no-such-task"
	ownTask    = "mcpcheck-own-task"
)

// idOwn asks for an id in the member task, where the schema has none.
func idOwn(t *check.T) {
	for _, tr := range taskcalls.Needed(t) {
		e, err := t.TryFrame("tools/call", taskcalls.CallParams(tr, check.Params{"taskId": ownTask}))
		id := e.Message.Result().Get("task.taskId")
		if err != nil || !id.Exists() {
			continue
		}
		if id.String() == ownTask {
			t.Mark(e)
			t.Fail("an id of the server's own", id.Raw, "tool %q was called as a task with an id of the client's, which the task got", tr.Name())
		}
		if t.Declares("tasks.cancel") {
			_, _ = t.TryFrame("tasks/cancel", taskcalls.TaskParams(id.String()))
		}
		return
	}
	t.NotObserved("no task came of a call that asks for an id", "")
}

func getAnswered(t *check.T) {
	seen := false
	for _, tr := range taskcalls.Needed(t) {
		if tr.Early.Raw == nil {
			continue
		}
		t.Mark(tr.Early)
		if got := tr.Early.Message.Result().Get("taskId"); got.String() != tr.Id() {
			t.Fail("task "+tr.Id(), tr.Early.Message.Summary(), "tasks/get of the task of tool %q, right after it was made", tr.Name())
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
	for _, tr := range taskcalls.Needed(t) {
		if tr.Result.Raw == nil || tr.Late.Message.Kind != wire.Result {
			continue
		}
		if !tr.Ended() {
			t.Mark(tr.Result)
			t.Fail("an answer when the task has ended", tr.Result.Message.Summary(), "tasks/result of the task of tool %q was answered, and then the task is %s", tr.Name(), tr.Late.Message.Result().Get("status"))
		}
		seen = seen || !taskcalls.IsFinal(tr.Early.Message.Result())
	}
	if !seen {
		t.NotObserved("no task was at work when its result was asked for", "offer a tool that takes a while as a task")
	}
}

// resultKept: a task that has not outlived its ttl may not be deleted
// (#ttl-and-resource-management), and while it is there its result is due.
func resultKept(t *check.T) {
	seen := false
	for _, tr := range taskcalls.Needed(t) {
		if !tr.Ended() || tr.Again.Raw == nil || expired(tr) {
			continue
		}
		if a, b := tr.Result.Message, tr.Again.Message; !taskcalls.SameOutcome(a, b) {
			t.Mark(tr.Again)
			t.Fail(a.Summary(), b.Summary(), "tasks/result of the task of tool %q was answered in another way the second time", tr.Name())
		}
		seen = true
	}
	if !seen {
		t.NotObserved("no task was asked for its result twice after it had ended", "")
	}
}

// expired tells whether the ttl of a task was over when its result was asked
// for again.
func expired(tr *taskcalls.Task) bool {
	ttl := tr.Late.Message.Result().Get("ttl")
	return ttl.Type == gjson.Number && tr.Again.At-tr.Created.At >= time.Duration(ttl.Float())*time.Millisecond
}

// otherResult, noResult and otherError tell what is wrong with the end of a
// task, where the call without a task shows what is right.
func otherResult(tr *taskcalls.Task) bool {
	return tr.Ended() && tr.Alike(wire.Result) && tr.Result.Message.Kind == wire.Result && !taskcalls.SameOutcome(tr.Direct[0].Message, tr.Result.Message)
}

func noResult(tr *taskcalls.Task) bool {
	return tr.Ended() && tr.GaveResult() && tr.Result.Message.Kind == wire.Error
}

func otherError(tr *taskcalls.Task) bool {
	return tr.Ended() && tr.Alike(wire.Error) && tr.Result.Raw != nil && !taskcalls.SameOutcome(tr.Direct[0].Message, tr.Result.Message)
}

// resultIdentical looks at tools that give the same each time.
func resultIdentical(t *check.T) {
	seen := false
	for _, tr := range taskcalls.Needed(t) {
		if otherResult(tr) && tr.Still(t, otherResult) {
			t.Mark(tr.Result)
			t.Fail(tr.Direct[0].Message.Summary(), tr.Result.Message.Summary(), "tool %q gives the same twice without a task, and another result as one", tr.Name())
		}
		seen = seen || tr.Ended() && tr.Alike(wire.Result) && tr.Result.Message.Kind == wire.Result && !otherResult(tr)
	}
	if !seen {
		t.NotObserved("no tool gives the same result twice, and also as a task", "offer a tool with taskSupport optional")
	}
}

// resultResponse: that a task is completed says that a result came of it.
func resultResponse(t *check.T) {
	seen := false
	for _, tr := range taskcalls.Needed(t) {
		if noResult(tr) && tr.Still(t, noResult) {
			t.Mark(tr.Result)
			t.Fail("a result", tr.Result.Message.Summary(), "the call of tool %q ends in a result, and tasks/result was answered with %s", tr.Name(), tr.Result.Message.Summary())
		}
		seen = seen || tr.Ended() && tr.GaveResult() && tr.Result.Message.Kind == wire.Result
	}
	if !seen {
		t.NotObserved("no task came to a result", "")
	}
}

func resultError(t *check.T) {
	seen := false
	for _, tr := range taskcalls.Needed(t) {
		if otherError(tr) && tr.Still(t, otherError) {
			t.Mark(tr.Result)
			t.Fail(tr.Direct[0].Message.Summary(), tr.Result.Message.Summary(), "tool %q without a task is answered with %s, tasks/result with %s", tr.Name(), tr.Direct[0].Message.Summary(), tr.Result.Message.Summary())
		}
		seen = seen || tr.Ended() && tr.Alike(wire.Error) && tr.Result.Message.Kind == wire.Error && !otherError(tr)
	}
	if !seen {
		t.NotObserved("no tool that can be a task is answered with a protocol error", "")
	}
}
