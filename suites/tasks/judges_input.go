package tasks

import (
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// Why the judges of input are not observed, and what helps.
const (
	noInput    = "no task was requested while it waited for the client"
	offerInput = "offer a read-only tool that can be called as a task and samples or elicits" + check.OrAllow
)

// judgesOfInput returns the judges of #input-required-status and of the tasks that a
// server makes of its own requests.
func judgesOfInput() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.input.status",
			Says:  "the status of a task that waits for the client is input_required",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-input-required-status"},
			Idle:  noInput,
			Hint:  offerInput,
			// The status may also be in a notification before the request for input.
			Judge: func(j *check.J) {
				for _, in := range inputsOfTasks(j) {
					check.Each(j, statusNotifications(j), func(e wire.Entry) bool {
						p := e.Message.Params()
						return e.Index < in.Index && p.Get("taskId").String() == in.id &&
							p.Get("status").String() == "input_required"
					})
					check.Each(j, taskStates(j), func(s taskState) bool {
						waits := s.request.Index > in.Index && (!in.isAnswered() || s.Index < in.answer.Index)
						if s.id() != in.id || !waits || taskcalls.IsFinal(s.task) {
							return false
						}
						if s.status() != "input_required" {
							j.Fail(s.Entry, "task %q waits for the answer to %s, and its status is %s",
								wire.Clip(in.id, 80), in.Message.Method(), wire.Clip(s.status(), 40))
						}
						return true
					})
				}
			},
		},
		{
			ID:    "tasks.input.left",
			Says:  "the status of a task that received all input is no longer input_required",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-input-required-leave"},
			Idle:  "no task was requested after it received all input",
			Hint:  offerInput,
			Judge: func(j *check.J) {
				inputs := inputsOfTasks(j)
				check.Each(j, taskStates(j), func(s taskState) bool {
					var last wire.Entry
					pending := false
					for _, in := range inputs {
						if in.id == s.id() && in.Index < s.Index {
							pending = pending || in.isPending(s.request.Index, s.Index)
							last = in.answer
						}
					}
					if last.Index == 0 || pending {
						return false
					}
					isLate := s.status() == "input_required" && s.At-last.At > maxResume
					if isLate {
						j.Fail(s.Entry, "task %q received its input %s ago, and its status is still input_required",
							wire.Clip(s.id(), 80), (s.At - last.At).Round(time.Millisecond))
					}
					return isLate || s.status() != "input_required"
				})
			},
		},
		{
			ID:    "tasks.augment.declared",
			Says:  "the server makes a task of its request only if the client declared that it can be one",
			Level: spec.Should,
			Rules: []string{"tasks-augment-only-declared", "tasks-no-creation-without-capability"},
			Idle:  "the server sent no request that could be a task and that the client did not declare as one",
			Hint:  "offer a read-only tool that samples or elicits" + check.OrAllow,
			// A transcript without the opening does not show what the client declares.
			Judge: func(j *check.J) {
				if !j.Capabilities(wire.Client).Exists() {
					return
				}
				capabilities := map[string]string{
					"sampling/createMessage": "tasks.requests.sampling.createMessage",
					"elicitation/create":     "tasks.requests.elicitation.create",
				}
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					m := e.Message
					capability := capabilities[m.Method()]
					if m.Kind != wire.Request || capability == "" || j.Declares(wire.Client, capability) {
						return false
					}
					if m.Params().Get("task").Exists() {
						j.Fail(e, "%s asks for a task, but the client did not declare %s", m.Method(), capability)
					}
					return true
				})
			},
		},
	}
}

// A taskInput is a request of the server that names a task, and its answer.
type taskInput struct {
	wire.Entry
	id     string     // of the task
	answer wire.Entry // Index is 0 if there is none
}

// isAnswered reports whether the client answered the request.
func (in taskInput) isAnswered() bool { return in.answer.Index != 0 }

// isPending reports whether the request had no answer at some time between two frames.
func (in taskInput) isPending(from, to int) bool {
	return in.Index < to && (!in.isAnswered() || in.answer.Index > from)
}

// inputsOfTasks returns the requests of the server that name a task, except those
// about tasks of the client.
func inputsOfTasks(j *check.J) []taskInput {
	return check.Derived(j, "input of tasks", func() (out []taskInput) {
		for _, e := range j.Sent() {
			if e.Message.Kind != wire.Request || transcript.CapabilityFor(e.Message.Method()) == "tasks" {
				continue
			}
			if id := relatedTask(e.Message.Params()); id.Exists() {
				out = append(out, taskInput{Entry: e, id: id.String()})
			}
		}
		for _, e := range j.Received() {
			for i, in := range out {
				if e.Message.IsResponse() && !in.isAnswered() && e.Index > in.Index &&
					e.Message.ID().Equal(in.Message.ID()) {
					out[i].answer = e
				}
			}
		}
		return out
	})
}

// maxResume is how long a server may take to change the status of a task after it
// received the last input.
const maxResume = time.Second
