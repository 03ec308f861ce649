package ping

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// judges are the judges of the pings that a server sends
// (basic/utilities/ping, which 2026-07-28 removed).
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "ping.sent.params",
			Says:  "a ping of the server has no parameters",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"ping-no-params"},
			// pingParams allows _meta, which any request may carry.
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					if e.Message.Kind != wire.Request || e.Message.Method() != "ping" {
						continue
					}
					stray := ""
					e.Message.Params().ForEach(func(key, _ gjson.Result) bool {
						if key.String() != "_meta" {
							stray = key.String()
						}
						return stray == ""
					})
					if stray != "" {
						j.Fail(e, "the ping has the parameter %q", wire.Clip(stray, 80))
						continue
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "ping.sent.rate",
			Says:  "the server does not ping ten times within a second",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"ping-not-excessive"},
			// pingRate needs to have seen two pings, and frames with their times.
			Judge: func(j *check.J) {
				var at []time.Duration
				for _, e := range j.Sent() {
					if e.Message.Kind != wire.Request || e.Message.Method() != "ping" || e.At == 0 {
						continue
					}
					at = append(at, e.At)
					n := len(at)
					if n >= manyPings && at[n-1]-at[n-manyPings] < time.Second {
						j.Fail(e, "the server sent %d pings within %s", manyPings, (at[n-1] - at[n-manyPings]).Round(time.Millisecond))
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

// manyPings within a second is what everybody would call excessive; the page
// gives no figure, and nothing below it is judged.
const manyPings = 10
