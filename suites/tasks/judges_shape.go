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

// A taskState is what one answer says of one task.
type taskState struct {
	wire.Entry // the answer
	request    wire.Entry
	method     string
	task       gjson.Result // an object
}

func (s taskState) id() string { return s.task.Get("taskId").String() }

func (s taskState) status() string { return s.task.Get("status").String() }

// taskStates returns what the server's answers say of tasks, in the order in
// which they came.
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
			add := func(v gjson.Result) {
				if v.IsObject() {
					out = append(out, taskState{e, request, request.Message.Method(), v})
				}
			}
			switch result := e.Message.Result(); request.Message.Method() {
			case "tools/call":
				if request.Message.Params().Get("task").Exists() {
					add(result.Get("task"))
				}
			case "tasks/get", "tasks/cancel":
				add(result)
			case "tasks/list":
				for _, v := range list(result.Get("tasks")) {
					add(v)
				}
			}
		}
		return out
	})
}

func list(v gjson.Result) []gjson.Result {
	if !v.IsArray() {
		return nil
	}
	return v.Array()
}

// createdTasks returns the first states of tasks.
func createdTasks(j *check.J) []taskState {
	return transcript.Filter(taskStates(j), func(s taskState) bool { return s.method == "tools/call" })
}

// taskMember judges one member of tasks by the schema, in the states that are
// its subjects.
func taskMember(j *check.J, pointer string, subject func(taskState) bool) {

	for _, s := range taskStates(j) {
		if !subject(s) {
			continue
		}
		if v := brokenTask(j, s.task, func(place string) bool { return place == pointer }); v != "" {
			j.Fail(s.Entry, "the task in the answer to %s: %s", s.method, v)
			continue
		}
		j.Saw()
	}

}

// brokenTask returns how a task breaks the schema at one of the places, or "".
func brokenTask(j *check.J, task gjson.Result, at func(place string) bool) string {
	for _, v := range schema.For(j.Rev).Validate("Task", []byte(task.Raw)) {
		if at(v.Place()) {
			return v.String()
		}
	}
	return ""
}

// shortestID is what nobody could call hard to guess: six characters of 64 are
// 36 bits.
const shortestID = 7

// counters returns the numbers in which two ids differ, if they differ in a
// decimal number alone and by less than a million.
func counters(a, b string) (na, nb uint64, ok bool) {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	begin := 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for begin > 0 && digit(a[begin-1]) {
		begin-- // to the first digit of the number
	}
	a, b = a[begin:], b[begin:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] && !digit(a[len(a)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	na, errA := strconv.ParseUint(a, 10, 64)
	nb, errB := strconv.ParseUint(b, 10, 64)
	return na, nb, errA == nil && errB == nil && max(na, nb)-min(na, nb) < 1_000_000
}

// timestamp reads a time in ISO 8601, in the forms of RFC 3339, to which the
// page points, and those that other readers know. It tells what is wrong.
func timestamp(v gjson.Result) (at time.Time, wrong string) {
	if v.Type != gjson.String {
		return at, "is " + wire.TypeName(v) + ", not a string"
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999Z07:00", "20060102T150405Z0700", "20060102T150405", time.DateOnly} {
		if at, err := time.Parse(layout, strings.ToUpper(v.Str)); err == nil {
			return at, ""
		}
	}
	return at, "is " + strconv.Quote(wire.Clip(v.Str, 60)) + ", which is no time of ISO 8601"
}
