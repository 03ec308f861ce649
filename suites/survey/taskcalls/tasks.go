package taskcalls

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// Usual is how long the tool takes without a task, 0 where that is not known.
func (tr *Task) Usual() time.Duration {
	if len(tr.Direct) == 0 {
		return 0
	}
	least := tr.Direct[0].Took
	for _, d := range tr.Direct {
		least = min(least, d.Took)
	}
	return least
}

// payloadOf is the part of an answer that the call itself gave.
func payloadOf(m wire.Message) []any {
	if m.Kind == wire.Error {
		return []any{m.Error().Get("code").Value(), m.Error().Get("message").Value()}
	}
	r := m.Result()
	return []any{r.Get("content").Value(), r.Get("structuredContent").Value(), r.Get("isError").Bool()}
}

// SameOutcome tells whether two answers say the same of the call.
func SameOutcome(a, b wire.Message) bool {
	return a.Kind == b.Kind && reflect.DeepEqual(payloadOf(a), payloadOf(b))
}

// Still makes the same trial once more, and tells whether what looked wrong
// does so again: a tool may give something else from one moment to the next.
func (tr *Task) Still(t *check.T, wrong func(*Task) bool) bool {
	once := &Task{Tool: tr.Tool, Args: tr.Args}
	RunTasks(t, once)
	return wrong(once)
}

// Alike tells whether the direct calls gave the same answer of a kind twice.
func (tr *Task) Alike(kind wire.Kind) bool {
	return len(tr.Direct) == 2 && tr.Direct[0].Message.Kind == kind &&
		SameOutcome(tr.Direct[0].Message, tr.Direct[1].Message)
}

// GaveResult tells whether a result came of the call: the task is completed, or
// the call always ends in one.
func (tr *Task) GaveResult() bool {
	return tr.Late.Message.Result().Get("status").String() == "completed" || tr.Alike(wire.Result)
}

var TasksList = offer.List{Method: "tasks/list", Member: "tasks", Capability: "tasks.list", Key: "taskId"}

// A Task is one tool called as a task from its making to its end, and
// beside it without a task where the tool allows that. An answer that did not
// come has no Raw.
type Task struct {
	Tool   gjson.Result
	Args   string
	Direct []Timed // answers to the call without a task

	Created Timed
	Early   wire.Entry // tasks/get behind the making
	Result  wire.Entry // tasks/result
	Late    wire.Entry // tasks/get behind the result
	Again   wire.Entry // tasks/result once more

	running []*check.Call // the direct calls
	making  *check.Call
	waiting *check.Call // tasks/result
}

// A Timed entry is an answer and how long it took.
type Timed struct {
	wire.Entry
	Took time.Duration
}

// IsFinal tells whether a task is in a final status.
func IsFinal(task gjson.Result) bool {
	switch task.Get("status").String() {
	case "completed", "failed", "cancelled":
		return true
	}
	return false
}

// Tasks is what came of calling tools as tasks.
type Tasks struct {
	Trials    []*Task
	Cancelled []CancelledTask
	List      *offer.Walk // tasks/list, after all of these; nil where it is not declared
	Held      []string
}

// A CancelledTask is a task that was cancelled right after it was made.
type CancelledTask struct {
	Tool    string
	before  wire.Entry // tasks/get
	Answer  wire.Entry // to tasks/cancel
	Behind  wire.Entry // tasks/get
	created wire.Entry
}

var tasksKey = check.NewKey[*Tasks]("tasks")

// Run returns what came of calling each tool as a task that may be called
// so, which is done once.
func Run(t *check.T) *Tasks {
	return check.Once(t, tasksKey, func() *Tasks { return runAll(t) })
}

func runAll(t *check.T) *Tasks {
	all := &Tasks{}
	var reading, writing []*Task
	for _, tool := range offer.Tools(t) {
		args := offer.Arguments(t, tool, 1)
		switch {
		case !offer.MakesTasks(t) || !offer.CanBeTask(tool):
		case !t.Config().MayCall(tool):
			all.Held = append(all.Held, tool.Get("name").String())
		case len(args) == 0 || check.Has(t, offer.SlowTool(tool)) || len(reading)+len(writing) == maxTasked:
		case offer.ReadOnly(tool):
			reading = append(reading, &Task{Tool: tool, Args: args[0]})
		default:
			writing = append(writing, &Task{Tool: tool, Args: args[0]})
		}
	}
	if t.Declares("tasks.cancel") {
		for _, tr := range slices.Concat(reading, writing) {
			all.cancel(t, tr)
		}
	}
	RunTasks(t, reading...)
	for _, tr := range writing {
		RunTasks(t, tr)
	}
	all.Trials = append(reading, writing...)
	for _, c := range all.Cancelled {
		t.Try("tasks/get", TaskParams(c.created.Message.Result().Get("task.taskId").String())) // is it still so
	}
	if t.Declares("tasks.list") {
		all.List = offer.WalkNow(t, TasksList)
	}
	return all
}

// CallParams are the params that make a task of a call. The time asked for is that
// of the longest run of checks.
func CallParams(tr *Task, own check.Params) check.Params {
	p := offer.CallParams(tr.Tool, tr.Args)
	task := check.Params{"ttl": 120_000}
	for k, v := range own {
		task[k] = v
	}
	p["task"] = task
	return p
}

func TaskParams(id string) check.Params { return check.Params{"taskId": id} }

// withProgressToken adds a progress token that no other request has.
func withProgressToken(t *check.T, p check.Params) check.Params {
	p["_meta"] = check.Params{"progressToken": fmt.Sprintf("mcpcheck-task-%s", t.NextID().Raw)}
	return p
}

// RunTasks calls tools as tasks, at once: first the tasks, so that no direct call
// keeps them waiting.
func RunTasks(t *check.T, trials ...*Task) {
	for _, tr := range trials {
		tr.making, _ = t.TryStart("tools/call", withProgressToken(t, CallParams(tr, nil)))
	}
	for _, tr := range trials {
		for range 2 {
			if tr.Tool.Get("execution.taskSupport").String() == "optional" {
				if running, err := t.TryStart("tools/call", offer.CallParams(tr.Tool, tr.Args)); err == nil {
					tr.running = append(tr.running, running)
				}
			}
		}
	}
	for _, tr := range trials {
		if tr.Created = AnswerTo(t, tr.making, t.Timeout()/2); tr.Made() {
			tr.Early, _ = t.Try("tasks/get", TaskParams(tr.Id())).Get()
			tr.waiting, _ = t.TryStart("tasks/result", TaskParams(tr.Id()))
		}
	}
	for _, tr := range trials {
		tr.end(t)
	}
}

// AnswerTo waits for an answer for a while; none has no Raw.
func AnswerTo(t *check.T, call *check.Call, within time.Duration) Timed {
	if call == nil {
		return Timed{}
	}
	e, err := t.TryAnswer(call, within).Get()
	if err != nil {
		return Timed{}
	}
	return Timed{e, e.At - t.Frames(call.FrameIndex)[0].At}
}

// Needed returns the trials that came to a task, and ends the body if there
// are none.
func Needed(t *check.T) []*Task {
	all := Run(t)
	var out []*Task
	for _, tr := range all.Trials {
		if tr.Made() {
			out = append(out, tr)
		}
	}
	if len(out) == 0 {
		t.NotObserved("no tool was called as a task", check.AllowHint(all.Held))
	}
	return out
}
