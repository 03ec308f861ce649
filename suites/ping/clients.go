package ping

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// clientJudges are the judges of basic/utilities/ping, which 2026-07-28 removed.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "client.ping.answered",
			Says:  "a ping of the server is answered with an empty result",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"ping-respond"},
			Judge: func(j *check.J) {
				asks, answers := transcript.ServerRequests(j)
				for i, ask := range asks {
					m := answers[i].Message
					switch {
					case ask.Message.Method() != "ping":
					case m.Kind == wire.Invalid && transcript.IsOverdue(j, ask):
						j.Fail(ask, "the server's ping was not answered within %s", j.Due())
					case m.Kind == wire.Invalid:
					case m.Kind != wire.Result:
						j.Fail(answers[i], "ping was answered with %s", m.Summary())
					case !m.Result().IsObject(): // judged for all results
					default:
						if name := extra(m.Result()); name != "" {
							j.Fail(answers[i], "the result of ping holds %q", name)
							continue
						}
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "client.ping.params",
			Says:  "a ping of the client has no parameters",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"ping-no-params"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					if e.Message.Kind != wire.Request || e.Message.Method() != "ping" {
						continue
					}
					if name := extra(e.Message.Params()); name != "" {
						j.Fail(e, "ping carries %q", name)
						continue
					}
					j.Saw()
				}
			},
		},
	}
}

// extra returns a member of an object that is not _meta, or "".
func extra(v gjson.Result) (name string) {
	v.ForEach(func(key, _ gjson.Result) bool {
		if key.String() != "_meta" {
			name = wire.Clip(key.String(), 40)
		}
		return name == ""
	})
	return name
}
