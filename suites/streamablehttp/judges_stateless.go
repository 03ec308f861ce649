package streamablehttp

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// statelessJudges returns the judges of what streamable HTTP has only since
// 2026-07-28: the status of some errors, and the streams of requests.
func statelessJudges() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.status.meta",
			Says:  "the server refuses a request without the required fields of _meta with HTTP status 400",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-missing-http-400"},
			Idle:  "no request without the required fields of _meta was answered with error -32602",
			Hint:  "refuse a request without the required fields of _meta with error -32602",
			Judge: func(j *check.J) {
				judgeStatus(j, func(request wire.Message, code int) bool {
					meta := request.Params().Get("_meta")
					return code == spec.InvalidParams && !wire.Member(meta, spec.MetaClientCapabilities).Exists()
				})
			},
		},
		{
			ID:    "streamable-http.status.capabilities",
			Says:  "the server sends error -32021 with HTTP status 400",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-missing-capability-http-400"},
			Idle:  "no request was answered with error -32021",
			Hint: "offer a read-only tool that refuses a client without a capability with error -32021" +
				check.OrAllow,
			Judge: func(j *check.J) {
				judgeStatus(j, func(_ wire.Message, code int) bool { return code == spec.MissingClientCapability })
			},
		},
		{
			ID:    "streamable-http.status.version",
			Says:  "the server sends error -32022 with HTTP status 400",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"versioning-unsupported-version-http-400"},
			Idle:  "no request was answered with error -32022",
			Hint:  "refuse an unsupported version with error -32022",
			Judge: func(j *check.J) {
				judgeStatus(j, func(_ wire.Message, code int) bool { return code == spec.UnsupportedVersion })
			},
		},
		{
			ID:    "streamable-http.stream.unbuffered",
			Says:  "the server begins a stream with X-Accel-Buffering: no, so that proxies do not buffer it",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"streamable-http-x-accel-buffering"},
			Idle:  "no request was answered with an event stream",
			Hint:  "answer a request with an event stream, for example to report progress",
			Judge: func(j *check.J) {
				check.Each(j, j.Exchanges(), func(x *wire.Exchange) bool {
					if !x.OpensStream() {
						return false
					}
					values := x.Header().Values("X-Accel-Buffering")
					isNo := func(v string) bool { return strings.EqualFold(strings.TrimSpace(v), "no") }
					if !slices.ContainsFunc(values, isNo) {
						j.Fail(*x.Head, "a stream was begun without X-Accel-Buffering: no")
					}
					return true
				})
			},
		},
		{
			ID:    "streamable-http.listen.scope",
			Says:  "the server sends no progress and no log messages on the stream of a subscription",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"streamable-http-request-scoped-notifications"},
			Idle:  "no progress or log message came while the stream of a subscription was open",
			Hint:  "report progress or log during a call while subscriptions/listen is open",
			Judge: func(j *check.J) {
				subscriptions := transcript.Filter(j.Exchanges(), func(x *wire.Exchange) bool {
					posted := x.PostedMessages()
					return len(posted) == 1 && posted[0].Method() == "subscriptions/listen"
				})
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					method := e.Message.Method()
					exchange := j.ExchangeOf(e)
					if method != "notifications/progress" && method != "notifications/message" || exchange == nil {
						return false
					}
					if slices.Contains(subscriptions, exchange) {
						j.Fail(e, "%s came on the stream of a subscription", method)
					}
					isOpen := func(x *wire.Exchange) bool { return x.IsOpenAt(e.Index) }
					return slices.ContainsFunc(subscriptions, isOpen)
				})
			},
		},
	}
}

// judgeStatus judges the status of the errors that a rule is about. Only an error that
// comes first in its exchange can have a status of its own. An error for a request
// that names no version may be one of an earlier revision.
func judgeStatus(j *check.J, isAbout func(request wire.Message, code int) bool) {
	check.Each(j, transcript.ErrorResponses(j), func(e wire.Entry) bool {
		request, ok := j.RequestOf(e)
		x := j.ExchangeOf(e)
		if !ok || x == nil || x.Head == nil || transcript.AnswersLegacyRequest(j, e) || !isFirst(x, e) {
			return false
		}
		code, _ := e.Message.ErrorCode()
		if !isAbout(request.Message, code) {
			return false
		}
		if status := x.Status(); status != http.StatusBadRequest {
			j.Fail(e, "%s was answered with error %d and HTTP status %d, not 400", request.Message.Method(), code,
				status)
		}
		return true
	})
}

// isFirst reports whether an error is the first message of its exchange. A server that
// notices the error later has sent its status already.
func isFirst(x *wire.Exchange, e wire.Entry) bool {
	for _, answer := range x.Body {
		if !answer.IsTransportOnly() {
			return answer.Index == e.Index
		}
	}
	return false
}
