package semantics

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
)

// judges returns the judge of the status of answers.
func judges() []check.Check {
	return []check.Check{
		{
			ID: "streamable-http.answer.status",
			Says: "the server answers a request with status 200: clients take 202 and 204 for the end of an" +
				" exchange that has no answer",
			Level: spec.Robust,
			In:    streamable(),
			On:    transport.OnHTTP,
			Spec:  sendingMessages,
			Idle:  "no request was answered with a status of success",
			Hint:  expect.HintReply,
			// A response of a failed request may have any status of failure.
			Judge: func(j *check.J) {
				for _, x := range j.Exchanges() {
					if x.Status() < 200 || x.Status() > 299 || !hasAnswer(x) {
						continue
					}
					if x.Status() != http.StatusOK {
						j.Fail(*x.Head, "the answer to a request came with status %d %s", x.Status(),
							http.StatusText(x.Status()))
					}
					j.Saw()
				}
			},
		},
	}
}

// hasAnswer reports whether the exchange of a POST carries the response to one of the
// requests in it.
func hasAnswer(x *wire.Exchange) bool {
	for _, posted := range x.PostedMessages() {
		for _, m := range x.Messages() {
			if posted.Kind == wire.Request && m.IsResponse() && m.ID().Equal(posted.ID()) {
				return true
			}
		}
	}
	return false
}
