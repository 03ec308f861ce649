package tasks

import (
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

func taskInitial(j *check.J) {
	for _, s := range createdTasks(j) {
		if status := s.task.Get("status"); status.String() != "working" {
			j.Fail(s.Entry, "the task begins with the status %s", wire.Clip(status.Raw, 60))
			continue
		}
		j.Saw()
	}
}

// taskStays compares what is asked after a final status was told. Status
// notifications may have waited in a queue, and say nothing here.
func taskStays(final ...string) func(*check.J) {
	return func(j *check.J) {
		type end struct {
			status string
			index  int
		}
		ended := map[string]end{}
		for _, s := range taskStates(j) {
			was, known := ended[s.id()]
			switch {
			case s.method == "tools/call": // a life begins; an id used twice has a check of its own
				delete(ended, s.id())
			case known && s.request.Index < was.index: // was asked before
			case known && s.status() != was.status:
				j.Fail(s.Entry, "task %q was %s, and is now %s", wire.Clip(s.id(), 80), was.status, wire.Clip(s.status(), 40))
				return
			case known:
				j.Saw()
			case slices.Contains(final, s.status()):
				ended[s.id()] = end{s.status(), s.Index}
			}
		}
	}
}

// A taskProgress is a progress notification of a task.
type taskProgress struct {
	wire.Entry
	of taskState // the answer that made the task
}

// progressOfTasks returns the progress notifications that came, after a task
// was made, for the token of the request that made it.
func progressOfTasks(j *check.J) []taskProgress {
	return check.Derived(j, "progress of tasks", func() (out []taskProgress) {
		for _, e := range j.Sent() {
			if e.Message.Kind != wire.Notification || e.Message.Method() != "notifications/progress" {
				continue
			}
			token := e.Message.Params().Get("progressToken")
			var of []taskState
			for _, s := range createdTasks(j) {
				if own := s.request.Message.Params().Get("_meta.progressToken"); own.Exists() && transcript.EqualJSON(own, token) && s.task.Get("taskId").Type == gjson.String {
					of = append(of, s)
				}
			}
			if len(of) == 1 && e.Index > of[0].Index {
				out = append(out, taskProgress{e, of[0]})
			}
		}
		return out
	})
}

// lateProgress is how many notifications may be under way when a task is
// cancelled.
const lateProgress = 1

// taskStops judges by the progress of a task: that none comes shows something
// only where the same call reports progress when it is left alone.
func taskStops(j *check.J) {
	before, after := map[string]int{}, map[string][]taskProgress{}
	cancelled := map[string]wire.Entry{} // by id, the answer
	for _, s := range taskStates(j) {
		if _, known := cancelled[s.id()]; !known && s.method == "tasks/cancel" && s.status() == "cancelled" {
			cancelled[s.id()] = s.Entry
		}
	}
	same := func(s taskState) string {
		p := s.request.Message.Params()
		return p.Get("name").Raw + p.Get("arguments").Raw
	}
	for _, p := range progressOfTasks(j) {
		switch answer, ok := cancelled[p.of.id()]; {
		case !ok:
			before[same(p.of)]++
		case j.Follows(p.Entry, answer):
			after[p.of.id()] = append(after[p.of.id()], p)
		}
	}
	for _, s := range createdTasks(j) {
		late := after[s.id()]
		switch _, ok := cancelled[s.id()]; {
		case len(late) > lateProgress:
			j.Fail(late[len(late)-1].Entry, "%d progress notifications came after task %q was cancelled", len(late), wire.Clip(s.id(), 80))
		case ok && before[same(s)] > 0:
			j.Saw()
		}
	}
}

// taskFailedStatus takes the first state that was asked for after the result.
func taskFailedStatus(j *check.J) {
	transcript.EachResult(j, "tasks/result", func(e wire.Entry, request wire.Message, result gjson.Result) {
		if result.Get("isError").Type != gjson.True {
			return
		}
		id := request.Params().Get("taskId").String()
		for _, s := range taskStates(j) {
			if s.id() != id || s.request.Index < e.Index {
				continue
			}
			switch s.status() {
			case "completed":
				j.Fail(s.Entry, "the tool of task %q failed, and the task is completed", wire.Clip(id, 80))
			case "failed":
				j.Saw()
			}
			return
		}
	})
}

func taskFailedMessage(j *check.J) {
	for _, s := range taskStates(j) {
		switch message := s.task.Get("statusMessage"); {
		case s.method != "tasks/get" || s.status() != "failed":
		case !message.Exists() || message.Type == gjson.String && message.Str == "":
			j.Fail(s.Entry, "the failed task %q has no statusMessage", wire.Clip(s.id(), 80))
		default:
			j.Saw()
		}
	}
}

// A taskInput is a request of the server that names a task, and its answer.
type taskInput struct {
	wire.Entry
	id     string
	answer wire.Entry // Index is 0 where there is none
}

// inputsOfTasks returns what the server asked the client for tasks.
func inputsOfTasks(j *check.J) []taskInput {
	return check.Derived(j, "input of tasks", func() (out []taskInput) {
		for _, e := range j.Sent() {
			if e.Message.Kind == wire.Request && transcript.CapabilityFor(e.Message.Method()) != "tasks" {
				if id := relatedTask(e.Message.Params()); id.Exists() {
					out = append(out, taskInput{Entry: e, id: id.String()})
				}
			}
		}
		for _, e := range j.Received() {
			for i := range out {
				if e.Message.IsResponse() && out[i].answer.Index == 0 && e.Index > out[i].Index && e.Message.ID().Equal(out[i].Message.ID()) {
					out[i].answer = e
				}
			}
		}
		return out
	})
}

// pending tells whether the input is waited for between two frames.
func (in taskInput) pending(from, to int) bool {
	return in.Index < to && (in.answer.Index == 0 || in.answer.Index > from)
}

// taskInputStatus judges what is asked and answered while input is waited for.
// A status notification before the request is as good.
func taskInputStatus(j *check.J) {
	for _, in := range inputsOfTasks(j) {
		for _, e := range j.Sent() {
			p := e.Message.Params()
			if e.Message.Method() == "notifications/tasks/status" && e.Index < in.Index && p.Get("taskId").String() == in.id && p.Get("status").String() == "input_required" {
				j.Saw()
			}
		}
		for _, s := range taskStates(j) {
			waits := s.request.Index > in.Index && (in.answer.Index == 0 || s.Index < in.answer.Index)
			switch {
			case s.id() != in.id || !waits:
			case slices.Contains([]string{"completed", "failed", "cancelled"}, s.status()): // it waits no longer
			case s.status() != "input_required":
				j.Fail(s.Entry, "task %q waits for the answer to %s, and is %s", wire.Clip(in.id, 80), in.Message.Method(), wire.Clip(s.status(), 40))
			default:
				j.Saw()
			}
		}
	}
}

// toGoOn is how long a server may take to see that it was answered.
const toGoOn = time.Second

func taskInputLeft(j *check.J) {
	inputs := inputsOfTasks(j)
	for _, s := range taskStates(j) {
		var last wire.Entry
		open := false
		for _, in := range inputs {
			if in.id == s.id() && in.Index < s.Index {
				open = open || in.pending(s.request.Index, s.Index)
				last = in.answer
			}
		}
		switch {
		case last.Index == 0 || open:
		case s.status() != "input_required":
			j.Saw()
		case s.At-last.At > toGoOn:
			j.Fail(s.Entry, "task %q was answered %s ago, and is still input_required", wire.Clip(s.id(), 80), (s.At - last.At).Round(time.Millisecond))
		}
	}
}

// augmentsDeclared looks at the requests of the server that could be tasks.
func augmentsDeclared(j *check.J) {
	for _, e := range j.Sent() {
		m := e.Message
		capability := map[string]string{"sampling/createMessage": "tasks.requests.sampling.createMessage", "elicitation/create": "tasks.requests.elicitation.create"}[m.Method()]
		switch {
		case m.Kind != wire.Request || capability == "" || j.Declares(wire.Client, capability):
		case m.Params().Get("task").Exists():
			j.Fail(e, "%s asks for a task, and the client did not declare %s", m.Method(), capability)
		default:
			j.Saw()
		}
	}
}
