package server

import "testing"

// A call that is silent was broken off only if its reports say so too.
func TestACancelledCallThatIsReportedOnLags(t *testing.T) {
	twin := run{token: "1", answered: true, reports: []int{10, 20, 30}}
	for _, c := range []struct {
		says      string
		cancelled run
		read      int
		want      bool
	}{
		{"broken off after the first report", run{reports: []int{9}}, 12, false},
		{"answered", run{answered: true, reports: []int{9, 19, 29}}, 12, false},
		{"reported on after the server had read it", run{reports: []int{9, 19, 29}}, 12, true},
		{"reported on to its end before the server had read it", run{reports: []int{9, 19, 29}}, 40, true},
	} {
		w := &working{cancelled: c.cancelled, read: c.read, twins: []run{twin, {answered: true}}}
		if got := w.lags(); got != c.want {
			t.Errorf("%s: lags is %v", c.says, got)
		}
	}
}
