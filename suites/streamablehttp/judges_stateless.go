package streamablehttp

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// statelessJudges are the judges of what streamable HTTP has since 2026-07-28 alone:
// the status that goes with an error, and the streams of requests.
func statelessJudges() []check.Check {
	return []check.Check{
		{
			ID:    "lifecycle.meta.status",
			Says:  "over HTTP a request without the required fields of _meta is refused with status 400",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"lifecycle-meta-missing-http-400"},
			Judge: func(j *check.J) {
				statusOf(j, func(request wire.Message, code int) bool {
					meta := request.Params().Get("_meta")
					return code == spec.InvalidParams && !wire.Member(meta, spec.MetaClientCapabilities).Exists()
				})
			},
		},
		{
			ID:    "lifecycle.capabilities.status",
			Says:  "over HTTP error -32021 goes with status 400",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"lifecycle-missing-capability-http-400"},
			Judge: func(j *check.J) {
				statusOf(j, func(_ wire.Message, code int) bool { return code == spec.MissingClientCapability })
			},
		},
		{
			ID:    "versioning.unsupported.status",
			Says:  "over HTTP error -32022 goes with status 400",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"versioning-unsupported-version-http-400"},
			Judge: func(j *check.J) {
				statusOf(j, func(_ wire.Message, code int) bool { return code == spec.UnsupportedVersion })
			},
		},
		{
			ID:    "streamable-http.stream.unbuffered",
			Says:  "a stream tells proxies by X-Accel-Buffering: no not to hold it back",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-x-accel-buffering"},
			Judge: func(j *check.J) {
				for _, x := range j.Exchanges() {
					if !x.Streams() {
						continue
					}
					values := http.Header(x.Head.HTTP.Header).Values("X-Accel-Buffering")
					if !slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(strings.TrimSpace(v), "no") }) {
						j.FailAt(*x.Head, "a stream was begun without X-Accel-Buffering: no")
						continue
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "streamable-http.listen.scope",
			Says:  "progress and log messages come on no stream of a subscription",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-request-scoped-notifications"},
			// listenScope counts as evidence what came on another stream while one of a
			// subscription was open.
			Judge: func(j *check.J) {
				var open []*check.Heard
				for _, x := range j.Exchanges() {
					if posted := x.Posted(); len(posted) == 1 && posted[0].Method() == "subscriptions/listen" {
						open = append(open, x)
					}
				}
				for _, e := range j.Sent() {
					method := e.Message.Method()
					on := j.ExchangeOf(e)
					switch {
					case method != "notifications/progress" && method != "notifications/message" || on == nil:
					case slices.Contains(open, on):
						j.Fail(e, "%s came on the stream of a subscription", method)
					case slices.ContainsFunc(open, func(x *check.Heard) bool { return x.Open(j.FrameOf(e)) }):
						j.Saw()
					}
				}
			},
		},
	}
}

// statusOf judges the status of the errors that a rule is about. A stream has
// said 200 before anything comes on it. An error to a request that names no
// version may be one of an earlier revision.
func statusOf(j *check.J, about func(request wire.Message, code int) bool) {

	for _, e := range transcript.ErrorResponses(j) {
		request, ok := j.RequestOf(e)
		in := j.ExchangeOf(e)
		if !ok || in == nil || in.Head == nil || transcript.AnswersLegacyRequest(j, e) || !first(j, in, e) {
			continue
		}
		code, _ := e.Message.Code()
		switch status := in.Head.HTTP.Status; {
		case !about(request.Message, code):
		case status != http.StatusBadRequest:
			j.Fail(e, "%s was answered with error %d and HTTP status %d, not 400", request.Message.Method(), code, status)
		default:
			j.Saw()
		}
	}

}

// first tells whether an error was the first thing said in an exchange. A server
// that finds out later has told its status already.
func first(j *check.J, in *check.Heard, e wire.Entry) bool {
	for _, m := range in.Came {
		if !m.Wordless() {
			return m.At == j.FrameOf(e)
		}
	}
	return false
}
