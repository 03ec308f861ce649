package tasks

import (
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// A taskState is a task as one answer of the server holds it.
type taskState struct {
	wire.Entry // the answer
	request    wire.Entry
	method     string
	task       gjson.Result // an object
	taskID     gjson.Result
}

// id returns the id of the task.
func (s taskState) id() string { return s.taskID.String() }

// status returns the status of the task.
func (s taskState) status() string { return s.task.Get("status").String() }

// call returns the tool and the arguments of the call that created the task.
func (s taskState) call() string {
	p := s.request.Message.Params()
	return p.Get("name").Raw + p.Get("arguments").Raw
}

// taskStates returns the tasks in the answers of the server, in order.
func taskStates(j *check.J) []taskState {
	return check.Derived(j, "task states", func() (out []taskState) {
		for _, e := range j.Sent() {
			if e.Message.Kind != wire.Result {
				continue
			}
			request, ok := j.RequestOf(e)
			if !ok || request.Message.Kind != wire.Request {
				continue
			}
			for _, task := range tasksIn(request.Message, e.Message.Result()) {
				if task.IsObject() {
					out = append(out, taskState{e, request, request.Message.Method(), task, task.Get("taskId")})
				}
			}
		}
		return out
	})
}

// tasksIn returns the values that the result of a request has in the place of tasks.
func tasksIn(request wire.Message, result gjson.Result) []gjson.Result {
	switch request.Method() {
	case "tools/call":
		if request.Params().Get("task").Exists() {
			return []gjson.Result{result.Get("task")}
		}
	case "tasks/get", "tasks/cancel":
		return []gjson.Result{result}
	case "tasks/list":
		if list := result.Get("tasks"); list.IsArray() {
			return list.Array()
		}
	}
	return nil
}

// createdTasks returns the first states of tasks.
func createdTasks(j *check.J) []taskState {
	return transcript.Filter(taskStates(j), func(s taskState) bool { return s.method == "tools/call" })
}

// statusNotifications returns the notifications of the status of a task.
func statusNotifications(j *check.J) []wire.Entry {
	return transcript.Filter(j.Sent(), func(e wire.Entry) bool {
		return e.Message.Kind == wire.Notification && e.Message.Method() == "notifications/tasks/status"
	})
}

// taskViolation returns how a task breaks the schema at one of the places, or "".
func taskViolation(j *check.J, task gjson.Result, isPlace func(place string) bool) string {
	for _, v := range schema.For(j.Rev).Validate("Task", []byte(task.Raw)) {
		if isPlace(v.Pointer()) {
			return v.String()
		}
	}
	return ""
}

// shortestID is a length below which every id is easy to guess: six characters of 64
// have 36 bits.
const shortestID = 7

// counters returns the numbers in which two ids differ; ok is false unless they differ
// only in one decimal number and by less than a million, as the ids of a counter or a
// clock do.
func counters(a, b string) (na, nb uint64, ok bool) {
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	begin := 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for begin > 0 && isDigit(a[begin-1]) {
		begin-- // to the first digit of the number
	}
	a, b = a[begin:], b[begin:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] && !isDigit(a[len(a)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	na, errA := strconv.ParseUint(a, 10, 64)
	nb, errB := strconv.ParseUint(b, 10, 64)
	return na, nb, errA == nil && errB == nil && max(na, nb)-min(na, nb) < 1_000_000
}

// timeLayouts are the forms of ISO 8601 that are accepted: those of RFC 3339, to which
// the page links, and others that common readers accept.
var timeLayouts = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04:05.999999999Z0700",
	"2006-01-02 15:04:05.999999999Z07:00",
	"20060102T150405Z0700",
	"20060102T150405",
	time.DateOnly,
}

// parseTime reads a time in ISO 8601. It returns what is wrong with the value, or "".
func parseTime(v gjson.Result) (at time.Time, problem string) {
	if v.Type != gjson.String {
		return at, "is " + wire.TypeName(v) + ", not a string"
	}
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, strings.ToUpper(v.Str)); err == nil {
			return at, ""
		}
	}
	return at, "is " + strconv.Quote(wire.Clip(v.Str, 60)) + ", which is not a time in ISO 8601"
}
