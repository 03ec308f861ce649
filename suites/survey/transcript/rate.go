package transcript

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// maxPerSecond is how many notifications within a second everybody would call a flood.
// The specification gives no figure, and nothing below it is judged.
const maxPerSecond = 500

// JudgeRate fails if that many notifications of a method arrive within a second. Frames
// without a time are not counted.
func JudgeRate(j *check.J, method string) {
	var at []time.Duration
	for _, s := range Messages(j) {
		if s.Message.Method() != method || s.At == 0 {
			continue
		}
		at = append(at, s.At)
		if n := len(at); n >= maxPerSecond && at[n-1]-at[n-maxPerSecond] < time.Second {
			j.Fail(s.Entry, "%d notifications %s arrived within %s", maxPerSecond, method,
				(at[n-1] - at[n-maxPerSecond]).Round(time.Millisecond))
		}
	}
	if len(at) > 0 {
		j.Saw()
	}
}
