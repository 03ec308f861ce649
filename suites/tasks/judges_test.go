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
