package toolcalls

import (
	"testing"
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
