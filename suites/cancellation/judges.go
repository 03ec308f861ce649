package cancellation

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of the cancellations that a server sends
// (basic/utilities/cancellation): up to 2025-11-25 of its own requests, since
// 2026-07-28 (basic/patterns/cancellation) of subscriptions that it ends.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "cancellation.sent.params",
			Says:  "a cancellation names the request in requestId, and its reason is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"cancellation-params"},
			Judge: func(j *check.J) { transcript.Scope{Definitions: []string{"CancelledNotification"}}.Judge(j) },
		},
		{
			ID:    "cancellation.sent.own",
			Says:  "the server cancels only requests that it sent itself",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"cancellation-same-direction", "cancellation-request-id-schema"},
			Judge: func(j *check.J) {
				eachCancelled(j, func(s transcript.Message, id wire.ID) {
					if len(requested(j, j.Of, id, s.Entry)) == 0 {
						j.Fail(s.Entry, "the server cancelled a request with id %s, and sent none", wire.Clip(id.Raw, 80))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "cancellation.sent.in-progress",
			Says:  "the server cancels no request whose answer it read long before",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"cancellation-in-progress-only"},
			// cancelsInProgress objects only where the server must have read our answer
			// and had time to take note of it: it answered a request that we sent after it,
			// and cancelled later. What crosses on the way breaks no rule
			// (#timing-considerations).
			Judge: func(j *check.J) {
				eachCancelled(j, func(s transcript.Message, id wire.ID) {
					asked := requested(j, j.Of, id, s.Entry)
					if len(asked) != 1 {
						return
					}
					answer, ok := answeredBefore(j, id, s.Index)
					if late := s.At - answer.At; ok && late >= belief && readBefore(j, answer.Index, s.Index) {
						j.Fail(s.Entry, "the server cancelled its request with id %s %.1f s after the answer, which it had read", wire.Clip(id.Raw, 80), late.Seconds())
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "cancellation.sent.answer",
			Says:  "the answer to a request that the server cancelled is ignored when it comes nevertheless",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"cancellation-sender-ignores-response"},
			// lateAnswerIgnored objects where the server sends an error behind our answer
			// that is of no request, or ends at it. An error under the id of the answer has
			// no request either, which is judged with the messages.
			Judge: func(j *check.J) {
				eachCancelled(j, func(s transcript.Message, id wire.ID) {
					at, ok := answeredAfter(j, id, s.Index)
					if !ok || len(requested(j, j.Of, id, s.Entry)) != 1 {
						return
					}
					for _, e := range j.Sent() {
						if j.Follows(e, j.Entries()[at]) && e.Message.Kind == wire.Error && !e.Message.ID().Usable() && !j.Unreadable(e) && lastReceived(j, e.Index) == at {
							j.Fail(e, "the server cancelled its request with id %s, and answered the answer that came nevertheless with an error", wire.Clip(id.Raw, 80))
							return
						}
					}
					if end := j.Ending(); end != nil && !end.Asked && at == len(j.Entries())-1 {
						j.FailSession("the server cancelled its request with id %s, and ended when the answer came nevertheless: %s", wire.Clip(id.Raw, 80), end.What)
						return
					}
					if readBefore(j, at, len(j.Entries())) {
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "cancellation.sent.task",
			Says:  "the server cancels no request that became a task by a notification",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"cancellation-tasks-use-tasks-cancel", "cancellation-not-for-tasks"},
			// cancelsTask knows a task by the answer that made it one.
			Judge: func(j *check.J) {
				tasks := map[string]bool{}
				for _, e := range j.Received() {
					if m := e.Message; m.Kind == wire.Result && m.Result().Get("task.taskId").Type == gjson.String {
						tasks[m.ID().Key()] = true
					}
				}
				eachCancelled(j, func(s transcript.Message, id wire.ID) {
					asked := requested(j, j.Of, id, s.Entry)
					switch {
					case len(asked) != 1 || !asked[0].Message.Params().Get("task").IsObject() || !tasks[id.Key()]:
					default:
						j.Fail(s.Entry, "the server cancelled the task of its request with id %s by a notification, not by tasks/cancel", wire.Clip(id.Raw, 80))
					}
				})
				if len(tasks) > 0 {
					j.Saw()
				}
			},
		},
		{
			ID:    "cancellation.sent.subscription",
			Says:  "the server cancels nothing but subscriptions",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"cancellation-server-only-for-listen", "cancellation-server-references-listen"},
			Judge: func(j *check.J) {
				eachCancelled(j, func(s transcript.Message, id wire.ID) {
					asked := requested(j, j.Of.Peer(), id, s.Entry)
					for _, e := range asked {
						if e.Message.Method() == "subscriptions/listen" {
							j.Saw()
							return
						}
					}
					switch {
					case j.Unreadable(s.Entry):
					case len(asked) == 0:
						j.Fail(s.Entry, "the server sent a cancellation for the id %s, which no request has", wire.Clip(id.Raw, 80))
					default:
						j.Fail(s.Entry, "the server sent a cancellation for a %s, which is no subscription", wire.Clip(asked[0].Message.Method(), 80))
					}
				})
			},
		},
	}
}

// eachCancelled gives the cancellations that the server sent with the id that
// they name, where it is one.
func eachCancelled(j *check.J, look func(s transcript.Message, id wire.ID)) {
	transcript.EachMessage(j, func(s transcript.Message) {
		if s.Message.Kind != wire.Notification || s.Message.Method() != "notifications/cancelled" {
			return
		}
		if id := (wire.ID{Raw: s.Message.Params().Get("requestId").Raw}); id.Usable() {
			look(s, id)
		}
	})
}

// requested returns the requests of a role that have an id, but for those that
// were certainly sent after a message.
func requested(j *check.J, of wire.Role, id wire.ID, before wire.Entry) []wire.Entry {
	all := j.Received()
	if of == j.Of {
		all = j.Sent()
	}
	var out []wire.Entry
	for _, e := range all {
		if e.Index != before.Index && !j.Follows(e, before) && e.Message.Kind == wire.Request && e.Message.ID().Equal(id) {
			out = append(out, e)
		}
	}
	return out
}

// belief is how long a server may believe a request in progress whose answer it
// has read: the part that reads need not be the part that asked.
const belief = time.Second

// answeredBefore returns the first response that the judged side was sent for
// an id, and that it accepted.
func answeredBefore(j *check.J, id wire.ID, before int) (answer wire.Entry, ok bool) {
	for _, e := range j.Received() {
		if e.Index < before && e.Message.IsResponse() && e.Message.ID().Equal(id) && taken(j, e) {
			return e, true
		}
	}
	return answer, false
}

// taken tells whether what was posted was accepted: over HTTP a status of success
// says so, elsewhere nothing needs to.
func taken(j *check.J, e wire.Entry) bool {
	x := j.ExchangeOf(e)
	return x == nil || x.Head != nil && x.Head.HTTP.Status/100 == 2
}

// readBefore tells whether the judged side answered, before a frame, a request
// that was sent after another.
func readBefore(j *check.J, sent, before int) bool {
	for _, e := range j.Sent() {
		if e.Index <= sent || e.Index >= before || !e.Message.IsResponse() {
			continue
		}
		if request, ok := j.RequestOf(e); ok && request.Index > sent {
			return true
		}
	}
	return false
}

// lastReceived returns the last frame that the judged side was sent before one
// of its own.
func lastReceived(j *check.J, before int) int {
	last := -1
	for _, e := range j.Received() {
		if e.Index < before {
			last = e.Index
		}
	}
	return last
}

// answeredAfter returns the frame of the first response that the judged side
// was sent for an id after another frame.
func answeredAfter(j *check.J, id wire.ID, after int) (int, bool) {
	for _, e := range j.Received() {
		if e.Index > after && e.Message.IsResponse() && e.Message.ID().Equal(id) {
			return e.Index, true
		}
	}
	return 0, false
}
