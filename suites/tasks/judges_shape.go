package tasks

import (
	"slices"
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

// tasksDeclared looks at what the server makes of requests about tasks. That
// it does not know them is right without the capability.
func tasksDeclared(j *check.J) {
	if !j.Capabilities(wire.Server).Exists() {
		return
	}
	declared := j.Declares(wire.Server, "tasks")
	for _, e := range j.Sent() {
		request, ok := j.RequestOf(e)
		if !ok || !e.Message.IsResponse() {
			continue
		}
		method, params := request.Message.Method(), request.Message.Params()
		made := e.Message.Kind == wire.Result && (strings.HasPrefix(method, "tasks/") || e.Message.Result().Get("task.taskId").Exists())
		switch {
		case !strings.HasPrefix(method, "tasks/") && !params.Get("task").Exists():
		case made && !declared:
			j.Fail(e, "%s is answered as a server of tasks would, which declares no tasks", method)
		case made == declared:
			j.Saw()
		}
	}
}

// tasksCapability leaves booleans alone: the page speaks of boolean
// properties, and shows objects.
func tasksCapability(j *check.J) {
	for _, e := range transcript.ResultsOf(j, transcript.OpeningMethod(j)) {
		if !wire.Member(e.Message.Result().Get("capabilities"), "tasks").Exists() {
			continue
		}
		wrong := false
		for _, v := range schema.For(j.Rev).Validate("ServerCapabilities", []byte(e.Message.Result().Get("capabilities").Raw)) {
			if !transcript.PointerMatches(v.Place(), []string{"/tasks/**"}) {
				continue // lifecycle.capabilities.types
			}
			if at := e.Message.Result().Get("capabilities" + strings.ReplaceAll(v.InstancePath, "/", ".")); at.IsBool() && v.InstancePath != "/tasks" {
				j.Note("the capability %s is a boolean; the schema has an object", v.InstancePath)
				continue
			}
			j.Fail(e, "capabilities: %v", v)
			wrong = true
		}
		if !wrong {
			j.Saw()
		}
	}
}

// taskShape leaves to others the members that have rules of their own.
func taskShape(j *check.J) {
	for _, s := range taskStates(j) {
		elsewhere := []string{"/taskId", "/createdAt", "/lastUpdatedAt"}
		if s.method == "tasks/get" {
			elsewhere = append(elsewhere, "/ttl")
		}
		if v := brokenTask(j, s.task, func(place string) bool { return !transcript.PointerMatches(place, elsewhere) }); v != "" {
			j.Fail(s.Entry, "the task in the answer to %s: %s", s.method, v)
			continue
		}
		j.Saw()
	}
}

// taskMember judges one member of tasks by the schema, in the states that are
// its subjects.
func taskMember(pointer string, subject func(taskState) bool) func(*check.J) {
	return func(j *check.J) {
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

func taskIDUnique(j *check.J) {
	seen := map[string]int{} // by id, the request that it came of
	for _, s := range createdTasks(j) {
		id := s.task.Get("taskId")
		if id.Type != gjson.String {
			continue
		}
		switch request, again := seen[id.Str]; {
		case again && request != s.request.Index:
			j.Fail(s.Entry, "a second task gets the id %q", wire.Clip(id.Str, 80))
		case !again && len(seen) > 0:
			j.Saw()
		}
		seen[id.Str] = s.request.Index
	}
}

// shortestID is what nobody could call hard to guess: six characters of 64 are
// 36 bits.
const shortestID = 7

// taskIDSecure estimates: it objects to ids that are short, and to ids that
// differ in a decimal number alone, as those of a counter or a clock do. What
// looks random passes.
func taskIDSecure(j *check.J) {
	var ids []string
	for _, s := range createdTasks(j) {
		id := s.task.Get("taskId")
		if id.Type != gjson.String || slices.Contains(ids, id.Str) {
			continue
		}
		if ids = append(ids, id.Str); len(id.Str) < shortestID {
			j.Fail(s.Entry, "the id %q has %d characters", id.Str, len(id.Str))
			return
		}
		if len(ids) < 2 {
			continue
		}
		if a, b, counted := counters(ids[len(ids)-2], id.Str); counted {
			j.Fail(s.Entry, "the ids %q and %q differ by %d alone", wire.Clip(ids[len(ids)-2], 80), wire.Clip(id.Str, 80), max(a, b)-min(a, b))
			return
		}
		j.Saw()
	}
}

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

// taskCreatedAt tolerates a second, since the precision may differ.
func taskCreatedAt(j *check.J) {
	first := map[string]time.Time{}
	for _, s := range taskStates(j) {
		at, wrong := timestamp(s.task.Get("createdAt"))
		before, known := first[s.id()]
		switch {
		case wrong != "":
			j.Fail(s.Entry, "createdAt in the answer to %s %s", s.method, wrong)
		case known && at.Sub(before).Abs() > time.Second:
			j.Fail(s.Entry, "task %q was created at %s, and now at %s", wire.Clip(s.id(), 80), before.Format(time.RFC3339), at.Format(time.RFC3339))
		default:
			j.Saw()
		}
		if !known {
			first[s.id()] = at
		}
	}
}

func taskLastUpdatedAt(j *check.J) {
	for _, s := range taskStates(j) {
		at, wrong := timestamp(s.task.Get("lastUpdatedAt"))
		created, broken := timestamp(s.task.Get("createdAt"))
		switch {
		case wrong != "":
			j.Fail(s.Entry, "lastUpdatedAt in the answer to %s %s", s.method, wrong)
		case broken == "" && created.Sub(at) > time.Second:
			j.Fail(s.Entry, "task %q was last updated %s before it was created", wire.Clip(s.id(), 80), created.Sub(at))
		default:
			j.Saw()
		}
	}
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

func taskListShape(j *check.J) {
	transcript.EachResult(j, "tasks/list", func(e wire.Entry, _ wire.Message, result gjson.Result) {
		all := result.Get("tasks")
		switch n := slices.IndexFunc(list(all), func(v gjson.Result) bool { return !v.IsObject() }); {
		case !all.IsArray():
			j.Fail(e, "tasks is %s, not an array", wire.TypeName(all))
		case n >= 0:
			j.Fail(e, "tasks/%d is %s, not a task", n, wire.TypeName(all.Array()[n]))
		default:
			j.Saw()
		}
	})
}

// taskResultStructure: the tasks that a client makes are all of tools/call.
func taskResultStructure(j *check.J) {
	transcript.EachResult(j, "tasks/result", func(e wire.Entry, _ wire.Message, result gjson.Result) {
		for _, v := range schema.For(j.Rev).Validate("CallToolResult", []byte(result.Raw)) {
			if !transcript.PointerMatches(v.Place(), []string{"**/_meta/**"}) {
				j.Fail(e, "the result of the task is no CallToolResult: %s", v)
				return
			}
		}
		j.Saw()
	})
}

func taskNotificationShape(j *check.J) {
	for _, e := range j.Sent() {
		if e.Message.Kind != wire.Notification || e.Message.Method() != "notifications/tasks/status" {
			continue
		}
		params := e.Message.Params()
		if !params.IsObject() {
			j.Fail(e, "params is %s, not a task", wire.TypeName(params))
			continue
		}
		if v := brokenTask(j, params, func(string) bool { return true }); v != "" {
			j.Fail(e, "params is no task: %s", v)
			continue
		}
		j.Saw()
	}
}
