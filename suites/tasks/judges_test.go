package tasks

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

func TestCountersFindsIDsThatDifferInANumber(t *testing.T) {
	for _, c := range []struct {
		a, b    string
		counted bool
	}{
		{"task-000001", "task-000002", true},
		{"task-9", "task-10", true},
		{"1732176000123", "1732176000456", true},
		{"t-19-x", "t-20-x", true},
		{"786512e2-9e0d-44bd-8f29-789f320fe840", "0d9b2c1e-58f1-4d51-9c77-2b8e3b2a1c10", false},
		{"01936d2e-7c00-7abc-8def-0123456789ab", "01936d2e-7c00-7abc-8def-9f23456789ab", false},
		{"8817236482764827364", "1928374650192837465", false},
		{"H4D6RBVDMKHSR5XNCJANVAVQFR", "Q6X4XNV6YI6UA7MFG6NZGC2WLZ", false},
		{"abc", "abcd", false},
		{"task-1", "task-1000000", true},
		{"task-1", "task-1000001", false},
		{"task-1000001", "task-1", false},
		{"0", "9", true},
		{"a0", "a9b", false},
		{"x12y", "x13z", false},
		{"a:1", "b:2", false},
	} {
		if _, _, got := counters(c.a, c.b); got != c.counted {
			t.Errorf("%s and %s: counted %v, want %v", c.a, c.b, got, c.counted)
		}
	}
}

func TestParseTimeReadsISO8601(t *testing.T) {
	for raw, good := range map[string]bool{
		`"2025-11-25T10:30:00Z"`: true, `"2025-11-25T10:30:00.123456+02:00"`: true, `"2025-11-25t10:30:00z"`: true,
		`"2025-11-25 10:30:00Z"`: true, `"2025-11-25T10:30:00"`: true, `"20251125T103000Z"`: true,
		`"2025-11-25T10:30:00+0100"`: true, `"2025-11-25"`: true,
		`"Tue, 25 Nov 2025 10:30:00 GMT"`: false, `"1732530600"`: false, `""`: false, `1732530600`: false,
		`null`: false, ``: false,
	} {
		if _, problem := parseTime(gjson.Parse(raw)); (problem == "") != good {
			t.Errorf("%s: %q", raw, problem)
		}
	}
}

// Each judge has a golden exchange that gives it evidence. The next test has the polls,
// which take time, and the reference the work that stops: it reports progress.
func TestJudgesHaveSubjectInGoldenExchanges(t *testing.T) {
	for _, c := range judges() {
		c.Of = wire.Server
		seen := c.ID == "tasks.poll.interval" || c.ID == "tasks.cancel.stops" ||
			slices.ContainsFunc(fixtures.Golden(spec.V2025_11_25), func(e fixtures.Exchange) bool {
				return check.Judge(c, spec.V2025_11_25, wire.TranscriptOf(e.Frames)).State == check.Kept
			})
		if !seen {
			t.Errorf("%s has no evidence in any golden exchange", c.ID)
		}
	}
}

func TestAcceptsPollsAtPollInterval(t *testing.T) {
	frames := []wire.Frame{}
	for i := range 3 {
		at := time.Duration(i) * 2 * time.Second
		frames = append(frames,
			wire.Frame{
				From: wire.Server, At: at, Raw: fmt.Appendf(nil,
					`{"jsonrpc":"2.0","id":%d,"method":"tasks/get","params":{"taskId":"k7Qp2vXn"}}`, i),
			},
			wire.Frame{
				From: wire.Client, At: at, Raw: fmt.Appendf(nil,
					`{"jsonrpc":"2.0","id":%d,"result":{"taskId":"k7Qp2vXn","status":"working","pollInterval":2000}}`,
					i),
			})
	}
	all := Checks()
	c := all[slices.IndexFunc(all, func(c check.Check) bool { return c.ID == "tasks.poll.interval" })]
	if o := check.Judge(c, spec.V2025_11_25, wire.TranscriptOf(frames)); o.State != check.Kept {
		t.Errorf("%v: %s", o.State, o.Detail)
	}
}

func TestInputIsPendingUntilItsAnswer(t *testing.T) {
	at := func(index int) wire.Entry { return wire.Entry{Index: index} }
	for _, c := range []struct {
		in       taskInput
		from, to int
		want     bool
	}{
		{taskInput{Entry: at(5)}, 1, 9, true},
		{taskInput{Entry: at(5)}, 1, 5, false},
		{taskInput{Entry: at(5)}, 1, 6, true},
		{taskInput{Entry: at(5), answer: at(7)}, 6, 9, true},
		{taskInput{Entry: at(5), answer: at(7)}, 7, 9, false},
		{taskInput{Entry: at(5), answer: at(7)}, 8, 9, false},
	} {
		if got := c.in.isPending(c.from, c.to); got != c.want {
			t.Errorf("request %d, answer %d: pending between %d and %d: %v", c.in.Index, c.in.answer.Index, c.from,
				c.to, got)
		}
	}
}

// A server waits for the tool if the task has ended at once, and its creation took most of
// the time that the tool takes.
func TestWaitedForTool(t *testing.T) {
	for _, c := range []struct {
		status            string
		usual, trip, took time.Duration
		want              bool
	}{
		{"completed", minWork + 10, 10, minWork*4/5 + 10, true},
		{"failed", minWork + 10, 10, minWork * 2, true},
		{"completed", minWork + 10, 10, minWork*4/5 + 9, false},
		{"completed", minWork + 9, 10, minWork * 2, false},
		{"working", minWork + 10, 10, minWork * 2, false},
	} {
		task := &taskcalls.Task{Created: taskcalls.Timed{Took: c.took}}
		task.StatusBefore.Message = wire.Parse(fmt.Appendf(nil,
			`{"jsonrpc":"2.0","id":1,"result":{"status":%q}}`, c.status))
		if got := waitedForTool(task, c.usual, c.trip); got != c.want {
			t.Errorf("%s, usually %d, a trip of %d, created in %d: %v", c.status, c.usual, c.trip, c.took, got)
		}
	}
}
