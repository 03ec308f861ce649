package invariant

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// floods is how many notifications within a second everybody would call a
// flood; the pages give no figure, and nothing below it is judged.
const floods = 500

// flood objects to so many notifications of a method within a second. Frames
// without a time tell nothing.
func flood(j *check.J, method string) {
	var at []time.Duration
	eachSaid(j, func(s said) {
		if s.Message.Method() != method || s.At == 0 {
			return
		}
		at = append(at, s.At)
		if n := len(at); n >= floods && at[n-1]-at[n-floods] < time.Second {
			j.Fail(s.Entry, "%d notifications %s came within %s", floods, method, (at[n-1] - at[n-floods]).Round(time.Millisecond))
		}
	})
	if len(at) > 0 {
		j.Saw()
	}
}
