package toolcalls

import (
	"testing"
)

// A call that is silent was broken off only if its reports say so too.
func TestACancelledCallThatIsReportedOnLags(t *testing.T) {
	twin := Run{Token: "1", Answered: true, Reports: []int{10, 20, 30}}
	for _, c := range []struct {
		says      string
		cancelled Run
		read      int
		want      bool
	}{
		{"broken off after the first report", Run{Reports: []int{9}}, 12, false},
		{"answered", Run{Answered: true, Reports: []int{9, 19, 29}}, 12, false},
		{"reported on after the server had read it", Run{Reports: []int{9, 19, 29}}, 12, true},
		{"reported on to its end before the server had read it", Run{Reports: []int{9, 19, 29}}, 40, true},
	} {
		w := &Cancellation{cancelled: c.cancelled, readAt: c.read, Others: []Run{twin, {Answered: true}}}
		if got := w.mayStillRun(); got != c.want {
			t.Errorf("%s: lags is %v", c.says, got)
		}
	}
}
