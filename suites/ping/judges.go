package ping

import (
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
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
			Hint:  expect.HintOptional,
			Judge: func(j *check.J) { judgeParams(j) },
		},
		{
			ID:    "ping.sent.rate",
			Says:  "the server sends fewer than ten pings within a second",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"ping-not-excessive"},
			Idle:  "the server did not send two pings",
			Hint:  expect.HintOptional,
			// A frame without a time says nothing about the rate.
			Judge: func(j *check.J) {
				var at []time.Duration
				for _, e := range transcript.SentRequests(j, "ping") {
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

// judgeParams judges that pings have no params but _meta, which any request may
// have.
func judgeParams(j *check.J) {
	check.Each(j, transcript.SentRequests(j, "ping"), func(e wire.Entry) bool {
		if name := check.MemberBesideMeta(e.Message.Params()); name != "" {
			j.Fail(e, "the ping has the parameter %q", name)
		}
		return true
	})
}
