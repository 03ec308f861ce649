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

// judgesOfPolls returns the judges of a server that makes tasks of its own requests,
// which the client executes (#getting-tasks, #task-listing).
func judgesOfPolls() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.poll.interval",
			Says:  "the server polls a task of the client no more often than its pollInterval allows",
			Level: spec.Should,
			Rules: []string{"tasks-poll-interval-respected"},
			Idle:  "the server polled no task of the client twice",
			Hint:  "offer a read-only tool that samples as a task and polls it with tasks/get" + check.OrAllow,
			// The interval between two polls is the one in the answers between them.
			Judge: func(j *check.J) {
				last := map[string]wire.Entry{} // the last poll, by id
				for _, e := range transcript.SentRequests(j, "tasks/get") {
					id := e.Message.Params().Get("taskId").String()
					before, polled := last[id]
					last[id] = e
					if !polled {
						continue
					}
					for _, interval := range pollIntervals(j, id, before.Index, e.Index) {
						if gap := e.At - before.At; float64(gap) < timerTolerance*float64(interval) {
							j.Fail(e, "the server polled task %q %s after the last time, and its pollInterval is %s",
								wire.Clip(id, 80), gap.Round(time.Millisecond), interval)
							return
						}
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.poll.input",
			Says:  "the server requests the result of a task of the client whose status is input_required",
			Level: spec.Should,
			Rules: []string{"tasks-input-required-call-result"},
			Idle:  "no task of the client was input_required",
			Hint:  "offer a read-only tool that samples or elicits as a task" + check.OrAllow,
			// The server may have sent tasks/result before, and has as long as for an answer.
			Judge: func(j *check.J) {
				var end time.Duration
				for _, e := range j.Entries() {
					end = max(end, e.At)
				}
				requested := map[string]bool{} // by id
				for _, e := range transcript.SentRequests(j, "tasks/result") {
					requested[e.Message.Params().Get("taskId").String()] = true
				}
				check.Each(j, transcript.ReceivedResultsOf(j, "tasks/get"), func(e wire.Entry) bool {
					task := e.Message.Result()
					id := task.Get("taskId").String()
					if task.Get("status").String() != "input_required" {
						return false
					}
					if !requested[id] && end-e.At > j.AnswerTimeout() {
						j.Fail(e, "task %q is input_required, and the server did not request its result within %s",
							wire.Clip(id, 80), (end - e.At).Round(time.Millisecond))
					}
					return requested[id]
				})
			},
		},
		{
			ID:    "tasks.poll.cursor",
			Says:  "the server lists the tasks of the client only with cursors that the client returned",
			Level: spec.Must,
			Rules: []string{"tasks-list-cursor-opaque"},
			Idle:  "the server sent no tasks/list with a cursor",
			Hint:  "list the tasks of the client page by page with tasks/list",
			Judge: func(j *check.J) {
				check.Each(j, transcript.SentRequests(j, "tasks/list"), func(e wire.Entry) bool {
					cursor := e.Message.Params().Get("cursor")
					if !cursor.Exists() {
						return false
					}
					lists := transcript.ReceivedResultsOf(j, "tasks/list")
					returned := slices.ContainsFunc(lists, func(a wire.Entry) bool {
						next := a.Message.Result().Get("nextCursor")
						return a.Index < e.Index && next.Type == gjson.String && cursor.Type == gjson.String &&
							next.Str == cursor.Str
					})
					if !returned {
						j.Fail(e, "the client returned no cursor %s for tasks/list", wire.Clip(cursor.Raw, 80))
					}
					return true
				})
			},
		},
	}
}

// pollIntervals returns the poll intervals of a task in the results of tasks/get
// between two frames.
func pollIntervals(j *check.J, id string, from, to int) []time.Duration {
	var out []time.Duration
	for _, e := range transcript.ReceivedResultsOf(j, "tasks/get") {
		task := e.Message.Result()
		interval := task.Get("pollInterval")
		if e.Index >= from && e.Index <= to && task.Get("taskId").String() == id && interval.Type == gjson.Number {
			out = append(out, time.Duration(interval.Float()*float64(time.Millisecond)))
		}
	}
	return out
}

// timerTolerance is the part of an interval after which a poll is in time: timers and
// pipes are not exact.
const timerTolerance = 0.9
