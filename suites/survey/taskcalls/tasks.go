package taskcalls

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// UsualDuration returns how long the tool takes without a task; 0 if that is not known.
func (tr *Task) UsualDuration() time.Duration {
	if len(tr.Direct) == 0 {
		return 0
	}
	least := tr.Direct[0].Took
	for _, d := range tr.Direct {
		least = min(least, d.Took)
	}
	return least
}

// payloadOf returns the part of an answer that the tool itself produced.
func payloadOf(m wire.Message) []any {
	if m.Kind == wire.Error {
		return []any{m.Error().Get("code").Value(), m.Error().Get("message").Value()}
	}
	r := m.Result()
	return []any{r.Get("content").Value(), r.Get("structuredContent").Value(), r.Get("isError").Bool()}
}

// SameOutcome reports whether two answers report the same outcome of the call.
func SameOutcome(a, b wire.Message) bool {
	return a.Kind == b.Kind && reflect.DeepEqual(payloadOf(a), payloadOf(b))
}

// IsRepeatable repeats the trial once and reports whether it is wrong again: the
// outcome of a tool may change from one moment to the next.
func (tr *Task) IsRepeatable(t *check.T, wrong func(*Task) bool) bool {
	once := &Task{Tool: tr.Tool, Args: tr.Args}
	RunTasks(t, once)
	return wrong(once)
}

// DirectAnswersAgree reports whether both direct calls returned the same answer of a
// kind.
func (tr *Task) DirectAnswersAgree(kind wire.Kind) bool {
	return len(tr.Direct) == 2 && tr.Direct[0].Message.Kind == kind &&
		SameOutcome(tr.Direct[0].Message, tr.Direct[1].Message)
}

// HasResult reports whether the call leads to a result: the task is completed, or the
// direct calls return results.
func (tr *Task) HasResult() bool {
	return tr.StatusAfter.Message.Result().Get("status").String() == "completed" || tr.DirectAnswersAgree(wire.Result)
}

var TasksList = offer.List{Method: "tasks/list", Member: "tasks", Capability: "tasks.list", Key: "taskId"}

// A Task is one tool call as a task, from its creation to its end, with direct calls
// beside it if the tool allows them. An answer that did not come has no Raw.
type Task struct {
	Tool   gjson.Result
	Args   string
	Direct []Timed // answers to the call without a task

	Created      Timed
	StatusBefore wire.Entry // tasks/get after the creation
	Result       wire.Entry // tasks/result
	StatusAfter  wire.Entry // tasks/get after the result
	SecondResult wire.Entry // tasks/result again

	directCalls []*check.Call
	creation    *check.Call
	resultCall  *check.Call // tasks/result
}

// A Timed entry is an answer with its duration.
type Timed struct {
	wire.Entry
	Took time.Duration
}

// IsFinal reports whether a task has a final status.
func IsFinal(task gjson.Result) bool {
	switch task.Get("status").String() {
	case "completed", "failed", "cancelled":
		return true
	}
	return false
}

// Tasks is the outcome of calling tools as tasks.
type Tasks struct {
	Trials     []*Task
	Cancelled  []CancelledTask
	List       *offer.Walk // tasks/list after all tasks; nil if it is not declared
	NotAllowed []string
}

// A CancelledTask is a task that was cancelled right after its creation.
type CancelledTask struct {
	Tool    string
	before  wire.Entry // tasks/get
	Answer  wire.Entry // to tasks/cancel
	After   wire.Entry // tasks/get
	created wire.Entry
}

var tasksKey = check.NewKey[*Tasks]("tasks")

// Run calls each tool that may be called as a task, once for this revision, and returns
// the outcome.
func Run(t *check.T) *Tasks {
	return check.OnceInSession(t, tasksKey, func() *Tasks { return runAll(t) })
}

func runAll(t *check.T) *Tasks {
	all := &Tasks{}
	var reading, writing []*Task
	for _, tool := range offer.Tools(t) {
		args := offer.Arguments(t, tool, 1)
		switch {
		case !offer.SupportsTaskCalls(t) || !offer.SupportsTask(tool):
		case !t.Config().MayCall(tool):
			all.NotAllowed = append(all.NotAllowed, tool.Get("name").String())
		case len(args) == 0 || check.HasTrait(t, offer.SlowTool(tool)) || len(reading)+len(writing) == maxTaskTools:
		case offer.IsReadOnly(tool):
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
		// Judges examine whether the status is still the same.
		t.Try("tasks/get", TaskParams(c.created.Message.Result().Get("task.taskId").String()))
	}
	if t.Declares("tasks.list") {
		all.List = offer.WalkNow(t, TasksList)
	}
	return all
}

// CallParams returns the params of a call as a task. The requested ttl is that of the
// longest run of checks.
func CallParams(tr *Task, own check.Params) check.Params {
	p := offer.CallParams(tr.Tool, tr.Args)
	task := check.Params{"ttl": 120_000}
	for k, v := range own {
		task[k] = v
	}
	p["task"] = task
	return p
}

// TaskParams returns params that name a task.
func TaskParams(id string) check.Params { return check.Params{"taskId": id} }

// withProgressToken adds a progress token that no other request has.
func withProgressToken(t *check.T, p check.Params) check.Params {
	p["_meta"] = check.Params{"progressToken": fmt.Sprintf("mcpcheck-task-%s", t.NextID().Raw)}
	return p
}

// RunTasks calls tools as tasks, all at once. The tasks come first, so that no direct
// call delays them.
func RunTasks(t *check.T, trials ...*Task) {
	for _, tr := range trials {
		tr.creation, _ = t.TryStart("tools/call", withProgressToken(t, CallParams(tr, nil)))
	}
	for _, tr := range trials {
		for range 2 {
			if tr.Tool.Get("execution.taskSupport").String() == "optional" {
				if running, err := t.TryStart("tools/call", offer.CallParams(tr.Tool, tr.Args)); err == nil {
					tr.directCalls = append(tr.directCalls, running)
				}
			}
		}
	}
	for _, tr := range trials {
		if tr.Created = AnswerTo(t, tr.creation, t.Timeout()/2); tr.HasTask() {
			tr.StatusBefore, _ = t.Try("tasks/get", TaskParams(tr.ID())).Get()
			tr.resultCall, _ = t.TryStart("tasks/result", TaskParams(tr.ID()))
		}
	}
	for _, tr := range trials {
		tr.awaitAnswers(t)
	}
}

// AnswerTo waits for an answer for a limited time. A missing answer has no Raw.
func AnswerTo(t *check.T, call *check.Call, within time.Duration) Timed {
	if call == nil {
		return Timed{}
	}
	e, err := t.TryAnswer(call, within).Get()
	if err != nil {
		return Timed{}
	}
	return Timed{e, e.At - check.FrameAt(t, call.FrameIndex).At}
}

// HintTask is the hint of a check of a task.
const HintTask = "offer a read-only tool that can be called as a task" + check.OrAllow

// RequireTasks returns the trials that created a task. If there are none it ends the
// body.
func RequireTasks(t *check.T) []*Task {
	all := Run(t)
	var out []*Task
	for _, tr := range all.Trials {
		if tr.HasTask() {
			out = append(out, tr)
		}
	}
	if len(out) == 0 {
		t.NotObserved("no tool was called as a task", cmp.Or(check.AllowHint(all.NotAllowed), HintTask))
	}
	return out
}
