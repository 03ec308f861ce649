package tasks

import (
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// taskStays compares what is asked after a final status was told. Status
// notifications may have waited in a queue, and say nothing here.
func taskStays(j *check.J, final ...string) {
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

// toGoOn is how long a server may take to see that it was answered.
const toGoOn = time.Second
