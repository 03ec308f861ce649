package ping

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// clientJudges returns the judges of clients of basic/utilities/ping.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "ping.client.answered",
			Says:  "the client answers a ping of the server with an empty result",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"ping-respond"},
			Idle:  "the server sent no ping",
			Hint:  "let the client stay connected until the server has sent a ping",
			Judge: func(j *check.J) {
				asks, answers := transcript.ServerRequests(j)
				for i, ask := range asks {
					m := answers[i].Message
					switch {
					case ask.Message.Method() != "ping":
					case m.Kind == wire.Invalid && transcript.IsOverdue(j, ask):
						j.Fail(ask, "the client did not answer the server's ping within %s", j.AnswerTimeout())
					case m.Kind == wire.Invalid: // the session ended before the answer was due
					case m.Kind != wire.Result:
						j.Fail(answers[i], "ping was answered with %s", m.Summary())
					case !m.Result().IsObject(): // jsonrpc.result.object judges all results
					case check.MemberBesideMeta(m.Result()) != "":
						j.Fail(answers[i], "the result of ping holds %q", check.MemberBesideMeta(m.Result()))
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "ping.client.params",
			Says:  "a ping of the client has no parameters",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"ping-no-params"},
			Idle:  "the client sent no ping",
			Hint:  "let the client send a ping",
			Judge: func(j *check.J) { judgeParams(j) },
		},
	}
}
