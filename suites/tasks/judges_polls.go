package tasks

import (
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// taskPolls are the judges of a server that makes tasks of its own requests,
// at a client that carries them out (#getting-tasks, #task-listing).
func taskPolls() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.poll.interval",
			Says:  "the server asks for a task of its own no more often than the client wishes",
			Level: spec.Should,
			Rules: []string{"tasks-poll-interval-respected"},
			// pollInterval measures from one request to the next, by what was told between
			// them.
			Judge: func(j *check.J) {
				requests, answers := polls(j, "tasks/get"), answersOf(j, "tasks/get")
				last := map[string]wire.Entry{}
				for _, e := range requests {
					id := e.Message.Params().Get("taskId").String()
					before, polled := last[id]
					last[id] = e
					for _, a := range answers {
						wish := a.Message.Result().Get("pollInterval")
						if !polled || a.Index < before.Index || a.Index > e.Index || a.Message.Result().Get("taskId").String() != id || wish.Type != gjson.Number {
							continue
						}
						interval := time.Duration(wish.Float() * float64(time.Millisecond))
						if gap := e.At - before.At; float64(gap) < punctual*float64(interval) {
							j.Fail(e, "task %q is asked for %s after the last time, and the client wishes %s", wire.Clip(id, 80), gap.Round(time.Millisecond), interval)
							return
						}
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.poll.input",
			Says:  "the server asks for the result of a task of its own that is input_required",
			Level: spec.Should,
			Rules: []string{"tasks-input-required-call-result"},
			// pollInput takes a tasks/result that came before for as good, and waits for
			// one as long as for an answer.
			Judge: func(j *check.J) {
				var end time.Duration
				for _, e := range j.Entries() {
					end = max(end, e.At)
				}
				asked := map[string]bool{}
				for _, e := range polls(j, "tasks/result") {
					asked[e.Message.Params().Get("taskId").String()] = true
				}
				for _, a := range answersOf(j, "tasks/get") {
					task := a.Message.Result()
					switch id := task.Get("taskId").String(); {
					case task.Get("status").String() != "input_required":
					case asked[id]:
						j.Saw()
					case end-a.At > j.Due():
						j.Fail(a, "task %q is input_required, and its result was not asked for within %s", wire.Clip(id, 80), (end - a.At).Round(time.Millisecond))
					}
				}
			},
		},
		{
			ID:    "tasks.poll.cursor",
			Says:  "the server lists the tasks of the client by cursors of the client's alone",
			Level: spec.Must,
			Rules: []string{"tasks-list-cursor-opaque"},
			Judge: func(j *check.J) {
				for _, e := range polls(j, "tasks/list") {
					cursor := e.Message.Params().Get("cursor")
					if !cursor.Exists() {
						continue
					}
					given := slices.ContainsFunc(answersOf(j, "tasks/list"), func(a wire.Entry) bool {
						next := a.Message.Result().Get("nextCursor")
						return a.Index < e.Index && next.Type == gjson.String && cursor.Type == gjson.String && next.String() == cursor.String()
					})
					if !given {
						j.Fail(e, "tasks/list with the cursor %s, which the client did not give", wire.Clip(cursor.Raw, 80))
						continue
					}
					j.Saw()
				}
			},
		},
	}
}

// polls returns the requests of the server of a method, about tasks.
func polls(j *check.J, method string) []wire.Entry {
	return transcript.Filter(j.Sent(), func(e wire.Entry) bool {
		return e.Message.Kind == wire.Request && e.Message.Method() == method
	})
}

// answersOf returns the results that the server got for requests of a method.
func answersOf(j *check.J, method string) []wire.Entry {
	return transcript.Filter(j.Received(), func(e wire.Entry) bool {
		if e.Message.Kind != wire.Result {
			return false
		}
		request, ok := j.RequestOf(e)
		return ok && request.Message.Method() == method
	})
}

// punctual is the part of an interval after which a poll may come: timers and
// pipes are not exact.
const punctual = 0.9
