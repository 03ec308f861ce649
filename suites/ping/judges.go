package ping

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges returns the judges of the pings that a server sends.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "ping.sent.params",
			Says:  "a ping of the server has no parameters",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"ping-no-params"},
			Idle:  "the server sent no ping",
			Judge: func(j *check.J) { judgeParams(j) },
		},
		{
			ID:    "ping.sent.rate",
			Says:  "the server sends fewer than ten pings within a second",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"ping-not-excessive"},
			Idle:  "the server did not send two pings",
			// A frame without a time says nothing about the rate.
			Judge: func(j *check.J) {
				var at []time.Duration
				for _, e := range pingsSent(j) {
					if e.At == 0 {
						continue
					}
					at = append(at, e.At)
					n := len(at)
					if n >= excessivePings && at[n-1]-at[n-excessivePings] < time.Second {
						took := (at[n-1] - at[n-excessivePings]).Round(time.Millisecond)
						j.Fail(e, "the server sent %d pings within %s", excessivePings, took)
						return
					}
				}
				if len(at) > 1 {
					j.Saw()
				}
			},
		},
	}
}

// excessivePings within a second are excessive by any reading; the page gives no
// figure, and nothing below it is judged.
const excessivePings = 10

// pingsSent returns the pings of the judged side.
func pingsSent(j *check.J) []wire.Entry {
	return transcript.Filter(j.Sent(), func(e wire.Entry) bool {
		return e.Message.Kind == wire.Request && e.Message.Method() == "ping"
	})
}

// judgeParams judges that pings have no params but _meta, which any request may
// have.
func judgeParams(j *check.J) {
	check.Each(j, pingsSent(j), func(e wire.Entry) bool {
		if name := member(e.Message.Params()); name != "" {
			j.Fail(e, "the ping has the parameter %q", name)
		}
		return true
	})
}

// member returns the name of a member of an object other than _meta; "" if there is
// none.
func member(object gjson.Result) (name string) {
	object.ForEach(func(key, _ gjson.Result) bool {
		if key.String() != "_meta" {
			name = wire.Clip(key.String(), 80)
		}
		return name == ""
	})
	return name
}
