package streams

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// routeJudges returns the judges of which stream carries which message.
func routeJudges() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.stream.related",
			Says:  "the stream of a request carries only messages about that request",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"streamable-http-sse-server-messages-related", "progress-on-request-stream"},
			Idle:  "no notification came that names its request or subscription",
			Hint:  "offer a read-only tool that reports progress" + check.OrAllow,
			Judge: func(j *check.J) {
				judgeProgressRoutes(j)
				judgeSubscriptionRoutes(j)
			},
		},
		{
			ID:    "streamable-http.stream.related.advised",
			Says:  "the stream of a request carries only messages about that request",
			Level: spec.Should,
			In:    handshake(),
			Rules: []string{"streamable-http-sse-server-messages-related"},
			Idle:  "no notification came that names its request",
			Hint:  "offer a read-only tool that reports progress" + check.OrAllow,
			Judge: func(j *check.J) { judgeProgressRoutes(j) },
		},
		{
			ID:    "streamable-http.get.unrelated",
			Says:  "the stream of a GET carries no message about a request in flight",
			Level: spec.Should,
			In:    handshake(),
			Rules: []string{"streamable-http-get-messages-unrelated"},
			Idle:  "no progress was reported while the stream of a GET was open",
			Hint:  "open a stream at a GET, and report progress during a call of a read-only tool",
			// A request is in flight until its answer came: a message that came after it may
			// have been sent before it.
			Judge: func(j *check.J) {
				check.Each(j, progressRoutes(j), func(r progressRoute) bool {
					s := streamOf(j, r.exchange)
					isInFlight := r.Use.Answered == 0 || r.Use.Answered > r.Index
					switch {
					case r.isOwn(j):
						return hasOpenGet(j, r.Index)
					case s == nil || !s.isOpenedByGet() || r.IsCancelled || r.isRepeated(j):
					case isInFlight:
						j.Fail(r.Entry, "progress of the %s, which is in flight, came on the stream of a GET",
							r.Use.Request.Summary())
					}
					return false
				})
			},
		},
		{
			ID:    "streamable-http.get.no-responses",
			Says:  "the stream of a GET carries no response unless it resumes the stream of a request",
			Level: spec.Must,
			In:    handshake(),
			Rules: []string{"streamable-http-get-no-responses"},
			Idle:  "no response came while the stream of a GET was open",
			Hint:  expect.HintGetStream,
			// A stream whose first event is not in the recording may be that of a request.
			Judge: func(j *check.J) {
				opened := transcript.Filter(streamsOf(j), func(s *stream) bool {
					return s.isOpenedByGet() && s.first().RequestField("Last-Event-ID") == ""
				})
				for _, e := range j.Sent() {
					if !e.Message.IsResponse() || e.HTTP == nil {
						continue
					}
					exchange := j.ExchangeOf(e)
					check.Each(j, opened, func(s *stream) bool {
						if slices.Contains(s.exchanges, exchange) {
							j.Fail(e, "a %s came on the stream of a GET", e.Message.Summary())
							return false
						}
						return s.last().IsOpenAt(e.Index)
					})
				}
			},
		},
		{
			ID:    "streamable-http.message.once",
			Says:  "the server sends each message on only one of its streams",
			Level: spec.Must,
			In:    handshake(),
			Rules: []string{"streamable-http-one-stream-per-message", "streamable-http-no-broadcast"},
			Idle:  "no request or progress notification came while several streams were open",
			Hint:  "open a stream at a GET, and report progress during a call of a read-only tool",
			// Two equal messages are one message if the stream of the second was requested
			// before the first came. A resumed stream may repeat a message.
			Judge: func(j *check.J) {
				first := map[uniqueKey]wire.Entry{}
				check.Each(j, uniqueMessages(j), func(m uniqueMessage) bool {
					exchange := j.ExchangeOf(m.Entry)
					if exchange == nil || !exchange.OpensStream() {
						return false
					}
					before, known := first[m.key]
					if !known {
						first[m.key] = m.Entry
						return openStreams(j, m.Index) > 1
					}
					other := j.ExchangeOf(before)
					isOtherStream := streamOf(j, other) != streamOf(j, exchange)
					if isOtherStream && exchange.Request.Index < before.Index &&
						exchange.RequestField("Last-Event-ID") == "" {
						j.Fail(m.Entry, "the %s was sent on the stream of a %s (exchange %d) and of a %s (exchange %d)",
							m.Message.Summary(), other.Method(), other.Number, exchange.Method(),
							exchange.Number)
					}
					return false
				})
			},
		},
		{
			ID:    "streamable-http.subscriptions.closed",
			Says:  "the server sends no notification of a subscription whose stream the client has closed",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-client-cancel-http"},
			Idle:  "no change notification came after the client had closed the stream of a subscription",
			Hint:  "offer a tool that changes a list or a resource" + check.AndAllow,
			// Evidence is a change that was sent on another subscription after one was closed.
			Judge: func(j *check.J) {
				check.Each(j, subscriptionRoutes(j), func(r subscriptionRoute) bool {
					if r.exchange == r.own {
						return r.Message.Method() != transcript.AcknowledgedMethod && hasClosedSubscription(j, r.Index)
					}
					if r.own.IsClosedBefore(r.Index) {
						j.Fail(r.Entry, "the client had closed the stream of exchange %d, and %s of its subscription "+
							"was sent in exchange %d", r.own.Number, r.Message.Method(), r.exchange.Number)
					}
					return false
				})
			},
		},
		{
			ID:    "streamable-http.cancellation.closed",
			Says:  "the server sends no further message for a request whose stream the client has closed",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"cancellation-http-close-is-signal"},
			Idle:  "the client closed the stream of no request, or no later request was answered",
			Hint:  "offer a read-only tool that takes a second and answers with an event stream" + check.OrAllow,
			// Closing the stream cancels the request. Its answer or its progress could come on
			// another stream. A later request that was answered shows that there was time for
			// such a message.
			Judge: func(j *check.J) {
				for _, x := range j.Exchanges() {
					request, ok := closedRequest(j, x)
					if !ok {
						continue
					}
					check.Each(j, j.Sent(), func(e wire.Entry) bool {
						exchange := j.ExchangeOf(e)
						switch {
						case exchange == nil || e.Index < x.ClosedByClient.Index:
							return false
						case exchange != x && isAbout(e.Message, request):
							j.Fail(e, "the client had closed the stream of the %s, and the %s came on another one",
								request.Summary(), e.Message.Summary())
							return false
						}
						return exchange.Request.Index > x.ClosedByClient.Index && e.Message.IsResponse()
					})
				}
			},
		},
	}
}

// judgeProgressRoutes judges that progress comes on the stream of its request. A
// request whose stream the client has closed is judged as a cancelled one
// (streamable-http.cancellation.closed), and the streams of subscriptions by
// streamable-http.listen.scope.
func judgeProgressRoutes(j *check.J) {
	check.Each(j, progressRoutes(j), func(r progressRoute) bool {
		posted := r.exchange.PostedMessages()
		switch {
		case r.isOwn(j):
			return true
		case len(posted) == 0, posted[0].Method() == listenMethod:
		case r.own.IsClosedBefore(r.Index), r.isRepeated(j):
		default:
			j.Fail(r.Entry, "progress of the %s came on the stream of the %s", r.Use.Request.Summary(),
				posted[0].Summary())
		}
		return false
	})
}

// judgeSubscriptionRoutes judges that a notification that names a subscription comes
// on the stream of that subscription.
func judgeSubscriptionRoutes(j *check.J) {
	check.Each(j, subscriptionRoutes(j), func(r subscriptionRoute) bool {
		if r.exchange != r.own && !r.own.IsClosedBefore(r.Index) {
			j.Fail(r.Entry, "%s of the subscription of exchange %d came in exchange %d",
				r.Message.Method(), r.own.Number, r.exchange.Number)
		}
		return r.exchange == r.own
	})
}
