package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

const cancelledMethod = "notifications/cancelled"

// cancellationFaults are the faults of basic/utilities/cancellation, and of
// basic/patterns/cancellation and basic/transports/stdio#cancellation.
func cancellationFaults() []Fault {
	return slices.Concat(cancelledRequests(), ignoredCancellations(), sentCancellations())
}

// cancelledRequests are faults in what follows a cancellation in flight.
func cancelledRequests() []Fault {
	unanswered := []string{"cancellation.call.unanswered", "cancellation.call.silent"}
	return []Fault{
		{
			Name: "cancelled-call-failed", Does: "answers a cancelled call with an error at once",
			CaughtBy: unanswered,
			Apply: onCancelled("tools/call", func(id wire.ID, out server.FrameSink) {
				out(frameOf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"The request was cancelled"}}`,
					id.Raw))
			}),
		},
		{
			Name: "cancelled-call-concluded", Does: "answers a cancelled call with a result that reports a failure",
			CaughtBy: unanswered,
			Apply: onCancelled("tools/call", func(id wire.ID, out server.FrameSink) {
				out(resultFrame(id, failedTool("The call was cancelled")))
			}),
		},
		{
			Name: "cancelled-call-goes-on", Does: "continues the work of a cancelled call and withholds its answer",
			CaughtBy: []string{"cancellation.call.stopped", "cancellation.call.silent"},
			Apply:    continueCancelledCalls,
		},
		{
			Name: "cancelled-subscription-answered", Does: "answers a cancelled subscription with a result",
			CaughtBy: []string{"cancellation.subscription.unanswered"},
			Apply: onCancelled(listenMethod, func(id wire.ID, out server.FrameSink) {
				out(resultFrame(id, subscriptionEnd(id)))
			}),
		},
	}
}

// subscriptionEnd returns the result by which a server ends a subscription.
func subscriptionEnd(id wire.ID) server.Object {
	result := complete(nil)
	result["_meta"].(server.Object)[spec.MetaSubscriptionID] = json.RawMessage(id.Raw)
	return result
}

// ignoredCancellations are faults in how cancellations are received that have
// nothing to cancel.
func ignoredCancellations() []Fault {
	hasReason := func(m wire.Message) bool { return m.Params().Get("reason").Exists() }
	isUsable := func(m wire.Message) bool { return requestID(m).IsValid() }
	return []Fault{
		{
			Name: "cancel-unknown-answered", Does: "answers a cancellation of an unknown request with an error",
			CaughtBy: []string{"cancellation.unknown.ignored"},
			Apply: answerCancellation(func(m wire.Message, known bool) bool {
				return !known && requestID(m).Raw == "987654321"
			}, "The request is unknown"),
		},
		{
			Name: "cancel-unknown-fatal", Does: "exits on a cancellation of an unknown request that has a reason",
			CaughtBy: []string{"cancellation.unknown.ignored"},
			Apply: exitOnCancellation(func(m wire.Message, known bool) bool {
				return !known && isUsable(m) && hasReason(m)
			}, "the request is unknown"),
		},
		{
			Name: "cancel-completed-answered", Does: "answers a cancellation of a completed request with an error",
			CaughtBy: []string{"cancellation.completed.ignored"},
			Apply: answerCancellation(func(m wire.Message, known bool) bool { return known && hasReason(m) },
				"The request is completed"),
		},
		{
			Name: "cancel-completed-fatal", Does: "exits on a cancellation of a completed request that has a reason",
			CaughtBy: []string{"cancellation.completed.ignored"},
			Apply: exitOnCancellation(func(m wire.Message, known bool) bool {
				return known && hasReason(m)
			}, "the request is completed"),
		},
		{
			Name: "cancel-nothing-answered", Does: "answers a cancellation without parameters with an error",
			CaughtBy: []string{"cancellation.malformed.ignored"},
			Apply: answerCancellation(func(m wire.Message, _ bool) bool {
				return !m.Params().Exists()
			}, "requestId is missing"),
		},
		{
			Name: "cancel-null-fatal", Does: "exits on a cancellation of the request null",
			CaughtBy: []string{"cancellation.malformed.ignored"},
			Apply: exitOnCancellation(func(m wire.Message, _ bool) bool {
				return requestID(m).Raw == "null"
			}, "the request is null"),
		},
		{
			Name: "cancel-race-fatal", Does: "exits when the last request is cancelled while its answer is on the way",
			CaughtBy: []string{"cancellation.race"},
			Apply:    exitOnRace,
		},
	}
}

// answerCancellation answers cancellations that match and have nothing to cancel.
func answerCancellation(matches func(m wire.Message, known bool) bool, message string) apply {
	return onIdleCancellation(func(m wire.Message, known bool, out server.FrameSink) error {
		if matches(m, known) {
			out(errorWithoutID(spec.InvalidParams, message))
		}
		return nil
	})
}

// exitOnCancellation exits on cancellations that match and have nothing to cancel.
func exitOnCancellation(matches func(m wire.Message, known bool) bool, why string) apply {
	return onIdleCancellation(func(m wire.Message, known bool, _ server.FrameSink) error {
		if matches(m, known) {
			return errors.New(why)
		}
		return nil
	})
}

// sentCancellations are faults in the cancellations that the server sends.
func sentCancellations() []Fault {
	return []Fault{
		{
			Name: "cancels-for-client", Does: "cancels each request for prompts and then answers it",
			CaughtBy: []string{"cancellation.sent.own", "cancellation.sent.subscription"},
			Apply: cancelPrompts(func(id wire.ID) string {
				return `{"requestId":` + id.Raw + `,"reason":"not needed"}`
			}),
		},
		{
			Name: "cancels-true", Does: "sends cancellations whose requestId is true",
			CaughtBy: []string{"cancellation.sent.params"},
			Apply:    cancelPrompts(func(wire.ID) string { return `{"requestId":true}` }),
		},
	}
}

// cancelPrompts sends a cancellation with the params before each answer to
// prompts/list.
func cancelPrompts(params func(id wire.ID) string) apply {
	return sendBefore(isResponseWhen(isMethod("prompts/list")), func(f server.Frame) server.Frame {
		return frameOf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, cancelledMethod, params(f.Request.ID))
	})
}

// countInFlight counts the requests of the method while they are served.
func countInFlight(method string) (*requestCounts, apply) {
	inFlight := newRequestCounts()
	return inFlight, onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == method {
				inFlight.add(r.ID, 1)
				defer inFlight.add(r.ID, -1)
			}
			return next(ctx, r)
		}
	})
}

// onCancelled does something after a request of the method was cancelled in flight.
func onCancelled(method string, do func(id wire.ID, out server.FrameSink)) apply {
	return func(o *server.Options) {
		inFlight, count := countInFlight(method)
		count(o)
		onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
			return func(line []byte) error {
				id, cancels := cancelledID(line)
				cancels = cancels && inFlight.has(id)
				err := next(line)
				if cancels && err == nil {
					do(id, out)
				}
				return err
			}
		})(o)
	}
}

// requestID returns the id that a cancellation names.
func requestID(m wire.Message) wire.ID { return wire.ID{Raw: m.Params().Get("requestId").Raw} }

// cancelledID returns the id that a line cancels.
func cancelledID(line []byte) (id wire.ID, cancels bool) {
	m := wire.Parse(line)
	return requestID(m), m.Method() == cancelledMethod
}

// onIdleCancellation does something about cancellations that have nothing to
// cancel; known reports whether an earlier request had the id.
func onIdleCancellation(do func(m wire.Message, known bool, out server.FrameSink) error) apply {
	return onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
		seen := map[string]bool{}
		lasting := map[string]bool{} // requests that may be in flight
		return func(line []byte) error {
			m := wire.Parse(line)
			if m.Kind == wire.Request {
				seen[m.ID().Key()] = true
				lasting[m.ID().Key()] = m.Method() == listenMethod || m.Method() == "tools/call"
			}
			if err := next(line); err != nil || m.Method() != cancelledMethod {
				return err
			}
			id := requestID(m).Key()
			if lasting[id] {
				return nil
			}
			return do(m, seen[id], out)
		}
	})
}

// continueCancelledCalls hides cancellations of calls from the server, and its
// answers to these calls from the client.
func continueCancelledCalls(o *server.Options) {
	inFlight, count := countInFlight("tools/call")
	count(o)
	hidden := newRequestCounts()
	ignoreLines(func(m wire.Message) bool {
		hides := m.Method() == cancelledMethod && inFlight.has(requestID(m))
		if hides {
			hidden.add(requestID(m), 1)
		}
		return hides
	})(o)
	withhold(func(f server.Frame) bool {
		return f.Request != nil && f.Kind != wire.Notification && hidden.has(f.Request.ID)
	})(o)
}

// exitOnRace exits on cancellations without a reason: others are of other probes.
func exitOnRace(o *server.Options) {
	onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		last := ""
		return func(line []byte) error {
			m := wire.Parse(line)
			if id, cancels := cancelledID(line); cancels && id.Key() == last && !m.Params().Get("reason").Exists() {
				return fmt.Errorf("request %s was answered", id)
			}
			last = ""
			if m.Kind == wire.Request && (m.Method() == "ping" || m.Method() == "server/discover") {
				last = m.ID().Key()
			}
			return next(line)
		}
	})(o)
}
