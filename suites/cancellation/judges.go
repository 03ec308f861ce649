package cancellation

import (
	"math"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// The reasons why several judges are not observed, and what helps.
const (
	noCancellation = "the server sent no cancellation"
	noOwnCancelled = "the server cancelled none of its requests"
	cancelOwn      = "offer a read-only tool that cancels a request of its own, such as sampling" + check.OrAllow
)

// judges returns the judges of the cancellations that a server sends: up to
// 2025-11-25 of its own requests (basic/utilities/cancellation), since 2026-07-28 of
// subscriptions that it ends (basic/patterns/cancellation).
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "cancellation.sent.params",
			Says:  "a cancellation has the id of the request in requestId, and a string as reason",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"cancellation-params"},
			Idle:  noCancellation,
			Hint:  cancelOwn,
			Judge: func(j *check.J) { transcript.Scope{Definitions: []string{"CancelledNotification"}}.Judge(j) },
		},
		{
			ID:    "cancellation.sent.own",
			Says:  "the server cancels only requests that it sent itself",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"cancellation-same-direction", "cancellation-request-id-schema"},
			Idle:  noCancellation,
			Hint:  cancelOwn,
			Judge: func(j *check.J) {
				check.Each(j, cancellations(j), func(c cancelled) bool {
					if len(requestsBefore(j, j.Sent(), c)) == 0 {
						j.Fail(c.Entry, "the server cancelled a request with id %s, and sent none",
							wire.Clip(c.id.Raw, 80))
					}
					return true
				})
			},
		},
		{
			ID:    "cancellation.sent.in-progress",
			Says:  "the server cancels no request after it has read the answer",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"cancellation-in-progress-only"},
			Idle:  noOwnCancelled,
			Hint:  cancelOwn,
			// A cancellation and an answer that cross break no rule (#timing-considerations).
			// The server has read the answer if it has answered a request that was sent after
			// it; then it has some time to process that.
			Judge: func(j *check.J) {
				check.Each(j, cancellations(j), func(c cancelled) bool {
					if len(requestsBefore(j, j.Sent(), c)) != 1 {
						return false
					}
					answer, ok := acceptedAnswer(j, c)
					if delay := c.At - answer.At; ok && delay >= processingTime &&
						hasReadBefore(j, answer.Index, c.Index) {
						j.Fail(c.Entry,
							"the server cancelled its request with id %s %.1f s after it had read the answer",
							wire.Clip(c.id.Raw, 80), delay.Seconds())
					}
					return true
				})
			},
		},
		{
			ID:    "cancellation.sent.answer",
			Says:  "the server ignores the answer to a request that it has cancelled",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"cancellation-sender-ignores-response"},
			Idle:  "the server read no answer to a request that it had cancelled",
			Hint:  cancelOwn,
			Judge: func(j *check.J) {
				check.Each(j, cancellations(j), func(c cancelled) bool {
					answer, ok := answerAfter(j, c)
					return ok && len(requestsBefore(j, j.Sent(), c)) == 1 && judgeAnswerIgnored(j, c, answer)
				})
			},
		},
		{
			ID:    "cancellation.sent.task",
			Says:  "the server does not cancel a task by a cancellation notification",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"cancellation-tasks-use-tasks-cancel", "cancellation-not-for-tasks"},
			Idle:  "no request of the server became a task",
			Hint:  "offer a read-only tool that samples or elicits as a task" + check.OrAllow,
			Judge: func(j *check.J) {
				tasks := map[string]bool{} // by id of the request
				for _, e := range j.Received() {
					if m := e.Message; m.Kind == wire.Result && m.Result().Get("task.taskId").Type == gjson.String {
						tasks[m.ID().Key()] = true
					}
				}
				for _, c := range cancellations(j) {
					requests := requestsBefore(j, j.Sent(), c)
					if len(requests) == 1 && requests[0].Message.Params().Get("task").IsObject() && tasks[c.id.Key()] {
						j.Fail(c.Entry,
							"the server cancelled the task of its request %s by a notification, not by tasks/cancel",
							wire.Clip(c.id.Raw, 80))
					}
				}
				if len(tasks) > 0 {
					j.Saw()
				}
			},
		},
		{
			ID:    "cancellation.sent.subscription",
			Says:  "the server cancels only subscriptions",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"cancellation-server-only-for-listen", "cancellation-server-references-listen"},
			Idle:  "the server cancelled no subscription",
			Hint:  expect.HintOptional,
			Judge: func(j *check.J) {
				check.Each(j, cancellations(j), func(c cancelled) bool {
					requests := requestsBefore(j, j.Received(), c)
					isListen := func(e wire.Entry) bool { return e.Message.Method() == "subscriptions/listen" }
					switch {
					case slices.ContainsFunc(requests, isListen):
						return true
					case j.HasUnreadableBefore(c.Entry):
					case len(requests) == 0:
						j.Fail(c.Entry, "the server sent a cancellation for the id %s, which no request has",
							wire.Clip(c.id.Raw, 80))
					default:
						j.Fail(c.Entry, "the server sent a cancellation for a %s, which is no subscription",
							wire.Clip(requests[0].Message.Method(), 80))
					}
					return false
				})
			},
		},
	}
}

// judgeAnswerIgnored fails if the server reacts to the answer to a request that it
// has cancelled: it sends an error without id next, or ends. It reports whether the
// server has read the answer. Judges of JSON-RPC messages judge an error with the id
// of the answer.
func judgeAnswerIgnored(j *check.J, c cancelled, answer wire.Entry) bool {
	for _, e := range j.Sent() {
		isReaction := e.Message.Kind == wire.Error && !e.Message.ID().IsValid() && !j.HasUnreadableBefore(e)
		if isReaction && j.Follows(e, j.Entry(answer.Index)) && lastReceived(j, e.Index) == answer.Index {
			j.Fail(e, "the server cancelled its request with id %s, and answered the answer to it with an error",
				wire.Clip(c.id.Raw, 80))
			return true
		}
	}
	if end := j.Ending(); end != nil && !end.Requested && len(j.EntriesBefore(answer)) == len(j.Entries())-1 {
		j.FailSession("the server cancelled its request with id %s, and ended when the answer to it came: %s",
			wire.Clip(c.id.Raw, 80), end.Reason)
		return true
	}
	return hasReadBefore(j, answer.Index, math.MaxInt)
}

// A cancelled is a cancellation of the server with the id that it names.
type cancelled struct {
	transcript.Message
	id wire.ID
}

// cancellations returns the cancellations of the server whose requestId is an id.
func cancellations(j *check.J) []cancelled {
	var out []cancelled
	for _, s := range transcript.Messages(j) {
		if s.Message.Kind != wire.Notification || s.Message.Method() != "notifications/cancelled" {
			continue
		}
		if id := (wire.ID{Raw: s.Message.Params().Get("requestId").Raw}); id.IsValid() {
			out = append(out, cancelled{s, id})
		}
	}
	return out
}

// requestsBefore returns the requests among messages with the id of a cancellation,
// except those that were certainly sent after it.
func requestsBefore(j *check.J, messages []wire.Entry, c cancelled) []wire.Entry {
	return transcript.Filter(messages, func(e wire.Entry) bool {
		return e.Index != c.Index && !j.Follows(e, c.Entry) && e.Message.Kind == wire.Request &&
			e.Message.ID().Equal(c.id)
	})
}

// processingTime is how long a server may take to process an answer that it has
// read: another part of it may have sent the request.
const processingTime = time.Second

// acceptedAnswer returns the first answer to a cancelled request that the server
// accepted before it cancelled it.
func acceptedAnswer(j *check.J, c cancelled) (answer wire.Entry, ok bool) {
	for _, e := range j.Received() {
		if e.Index < c.Index && e.Message.IsResponse() && e.Message.ID().Equal(c.id) && isAccepted(j, e) {
			return e, true
		}
	}
	return answer, false
}

// isAccepted reports whether the server accepted a message: over HTTP, with a status
// of success.
func isAccepted(j *check.J, e wire.Entry) bool {
	x := j.ExchangeOf(e)
	return x == nil || x.Status()/100 == 2
}

// hasReadBefore reports whether the server had read a frame before another one: it
// answered, before that one, a request that was sent after the frame.
func hasReadBefore(j *check.J, sent, before int) bool {
	return slices.ContainsFunc(j.Sent(), func(e wire.Entry) bool {
		if e.Index <= sent || e.Index >= before || !e.Message.IsResponse() {
			return false
		}
		request, ok := j.RequestOf(e)
		return ok && request.Index > sent
	})
}

// lastReceived returns the last frame that the server was sent before one of its
// own, -1 if there is none.
func lastReceived(j *check.J, before int) int {
	last := -1
	for _, e := range j.Received() {
		if e.Index < before {
			last = e.Index
		}
	}
	return last
}

// answerAfter returns the first answer to a cancelled request that the server was
// sent after it cancelled it.
func answerAfter(j *check.J, c cancelled) (answer wire.Entry, ok bool) {
	for _, e := range j.Received() {
		if e.Index > c.Index && e.Message.IsResponse() && e.Message.ID().Equal(c.id) {
			return e, true
		}
	}
	return answer, false
}
