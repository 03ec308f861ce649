package toolcalls

import (
	"testing"
	"time"
)

// A call without an answer has ended only if its reports show it too.
func TestMayStillRunWaitsForCallsWithReports(t *testing.T) {
	other := Run{Token: "1", Answered: true, Reports: []int{10, 20, 30}}
	for _, c := range []struct {
		says      string
		cancelled Run
		read      int
		want      bool
	}{
		{"stopped after the first report", Run{Reports: []int{9}}, 12, false},
		{"answered", Run{Answered: true, Reports: []int{9, 19, 29}}, 12, false},
		{"reported after the server had read the cancellation", Run{Reports: []int{9, 19, 29}}, 12, true},
		{"reported to its end before the server had read the cancellation", Run{Reports: []int{9, 19, 29}}, 40, true},
	} {
		w := &Cancellation{cancelled: c.cancelled, readAt: c.read, Others: []Run{other, {Answered: true}}}
		if got := w.mayStillRun(); got != c.want {
			t.Errorf("%s: mayStillRun is %v", c.says, got)
		}
	}
}

// A call was broken off if it was answered early and after few reports. Any other answer
// may be that of a call that ended normally.
func TestCallEndNeedsFewReportsAndHalfTheTime(t *testing.T) {
	others := []Run{
		{Token: "1", Reports: make([]int, 6), took: 10 * time.Second},
		{Token: "2", Reports: make([]int, 8), took: 12 * time.Second},
		{took: 11 * time.Second}, // without a token it reports nothing
	}
	for _, c := range []struct {
		says      string
		reports   int
		took      time.Duration
		want      CallEnd
		ambiguous bool
	}{
		{"after half of the reports, early", 3, 4999 * time.Millisecond, BrokenOff, false},
		{"after half of the reports, at half the time", 3, 5 * time.Second, RanToEnd, true},
		{"after more than half of the reports, early", 4, time.Second, RanToEnd, false},
		{"after no report, early", 0, time.Second, BrokenOff, false},
		{"after all reports", 6, 10 * time.Second, RanToEnd, false},
	} {
		cancelled := Run{Answered: true, Reports: make([]int, c.reports), took: c.took}
		w := &Cancellation{Others: others, cancelled: cancelled}
		if got := w.CallEnd(); got != c.want || w.isAmbiguous() != c.ambiguous {
			t.Errorf("%s: the call ended by %v, ambiguous %v", c.says, got, w.isAmbiguous())
		}
	}
	if w := (&Cancellation{Others: others}); w.CallEnd() != Unanswered || w.isAmbiguous() {
		t.Error("a call without an answer has ended")
	}
}
