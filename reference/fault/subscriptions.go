package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

const (
	listenMethod       = "subscriptions/listen"
	acknowledgedMethod = "notifications/subscriptions/acknowledged"
)

// subscriptionsFaults are the faults of basic/patterns/subscriptions.
func subscriptionsFaults() []Fault {
	return slices.Concat(subscriptionRequests(), subscriptionAcknowledgments(), subscriptionIDs(),
		subscriptionDelivery(), subscriptionNotifications(), subscriptionsToResources())
}

// subscriptionRequests are faults in how a subscription is opened and ended.
func subscriptionRequests() []Fault {
	return []Fault{
		{
			Name: "listen-unanswered", Does: "neither acknowledges nor answers subscriptions/listen",
			CaughtBy: []string{"subscriptions.acknowledged"},
			Apply:    ignoreLines(isMessage(wire.Request, listenMethod)),
		},
		{
			Name:     "listen-answered-at-once",
			Does:     "answers subscriptions/listen with a result without an acknowledgment",
			CaughtBy: []string{"subscriptions.acknowledged"},
			Apply:    answerInstead(listenMethod, succeedWith(nil)),
		},
		{
			Name: "listen-ends-at-once", Does: "ends each subscription after its acknowledgment",
			CaughtBy: []string{"subscriptions.open"},
			Apply:    combine(withhold(isNotification(cancelledMethod)), endSubscriptionsAtOnce),
		},
		{
			Name: "empty-filter-refused", Does: "refuses subscriptions/listen with an empty filter",
			CaughtBy: []string{"subscriptions.filter.empty"},
			Apply: answerWhen(func(r *server.Request) bool {
				filter := filterOf(r)
				return filter != nil && len(filter) == 0
			}, failWith(spec.InvalidParams, "The filter is empty")),
		},
		{
			Name: "filter-not-required", Does: "accepts subscriptions/listen without a filter",
			CaughtBy: []string{"subscriptions.filter.missing"},
			Apply: onRequestWhen(lacksParam(listenMethod, "notifications"), func(r *server.Request) {
				r.Params["notifications"] = server.Object{}
			}),
		},
		{
			Name: "subscription-ends-by-error", Does: "ends open subscriptions by an error when it exits",
			CaughtBy: []string{"subscriptions.end.result"},
			Apply: combine(withhold(isNotification(cancelledMethod)),
				onHandler(func(next server.Handler) server.Handler {
					return func(ctx context.Context, r *server.Request) (any, *server.Error) {
						v, problem := next(ctx, r)
						if r.Method == listenMethod && problem == nil {
							return nil, &server.Error{Code: spec.InternalError, Message: "The server exits"}
						}
						return v, problem
					}
				})),
		},
		{
			Name: "subscription-end-untagged", Does: "ends subscriptions by a result without their id",
			CaughtBy: []string{"subscriptions.end.shape"},
			Apply: onResult(listenMethod,
				func(o server.Object) { delete(o["_meta"].(server.Object), spec.MetaSubscriptionID) }),
		},
		{
			Name: "subscription-end-misnamed", Does: "ends subscriptions by a result with another id",
			CaughtBy: []string{"subscriptions.end.shape"},
			Apply: onResult(listenMethod,
				func(o server.Object) { o["_meta"].(server.Object)[spec.MetaSubscriptionID] = "closing" }),
		},
		{
			Name: "cancel-of-subscription-ignored", Does: "continues subscriptions that the client cancelled",
			CaughtBy: []string{"subscriptions.cancelled"},
			Also:     map[string]string{"cancellation.subscription.unanswered": "it is answered when the server exits"},
			Apply:    onSubscriptionCancelled(func(string, []string, func(string) error) error { return nil }),
		},
		{
			Name: "cancel-ends-all", Does: "ends all subscriptions of the connection when the client cancels one",
			CaughtBy: []string{"subscriptions.listen.scoped"},
			Apply: onSubscriptionCancelled(func(cancelled string, others []string, cancel func(id string) error) error {
				for _, id := range others {
					if err := cancel(id); err != nil {
						return err
					}
				}
				return cancel(cancelled)
			}),
		},
	}
}

// filterOf returns the filter of a subscriptions/listen, nil for none.
func filterOf(r *server.Request) server.Object {
	if r == nil || r.Method != listenMethod {
		return nil
	}
	filter, _ := r.Params["notifications"].(server.Object)
	return filter
}

// endSubscriptionsAtOnce answers each subscription after its acknowledgment, and
// not again.
func endSubscriptionsAtOnce(o *server.Options) {
	onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if !isResultOf(listenMethod)(f) {
				next(f)
			}
			if f.Method == acknowledgedMethod {
				next(resultFrame(f.Request.ID, subscriptionEnd(f.Request.ID)))
			}
		}
	})(o)
}

// onSubscriptionCancelled handles cancellations of subscriptions in place of the
// server; others are the ids of the other open ones, and cancel cancels one.
func onSubscriptionCancelled(handle func(cancelled string, others []string, cancel func(id string) error) error) apply {
	return onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		var open []string
		return func(line []byte) error {
			m := wire.Parse(line)
			if m.Kind == wire.Request && m.Method() == listenMethod {
				open = append(open, m.ID().Raw)
			}
			id := requestID(m).Raw
			at := slices.Index(open, id)
			if m.Method() != cancelledMethod || at < 0 {
				return next(line)
			}
			open = slices.Delete(slices.Clone(open), at, at+1)
			return handle(id, open, func(id string) error {
				return next(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"requestId":%s}}`, cancelledMethod,
					id))
			})
		}
	})
}

// onAcknowledged changes the filter that an acknowledgment names.
func onAcknowledged(edit func(filter server.Object)) apply {
	return onNotification(acknowledgedMethod, func(params server.Object) {
		edit(params["notifications"].(server.Object))
	})
}

// unacknowledged leaves a member out of the filter that is acknowledged.
func unacknowledged(member string) apply { return onAcknowledged(remove(member)) }

// requestAllLists has a filter request the changes of all lists.
func requestAllLists(filter server.Object) {
	filter["toolsListChanged"], filter["promptsListChanged"], filter["resourcesListChanged"] = true, true, true
}

// subscriptionAcknowledgments are faults of acknowledgments.
func subscriptionAcknowledgments() []Fault {
	requests := func(list string) frameMatcher {
		return func(f server.Frame) bool { return f.Method == acknowledgedMethod && filterOf(f.Request)[list] == true }
	}
	return []Fault{
		{
			Name:     "change-before-ack",
			Does:     "sends a notification of a change of tools before it acknowledges the subscription to them",
			CaughtBy: []string{"subscriptions.ack.first"},
			Apply: sendBefore(requests("toolsListChanged"), func(f server.Frame) server.Frame {
				const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":` +
					`{%q:%s}}}`
				return frameOf(changed, spec.MetaSubscriptionID, f.Request.ID.Raw)
			}),
		},
		{
			Name: "ack-without-filter", Does: "leaves the filter out of acknowledgments",
			CaughtBy: []string{"subscriptions.ack.shape"},
			Apply:    onNotification(acknowledgedMethod, remove("notifications")),
		},
		{
			Name: "ack-uri-single", Does: "writes the URIs in acknowledgments as one string",
			CaughtBy: []string{"subscriptions.ack.shape"},
			Apply: onAcknowledged(func(filter server.Object) {
				if uris, ok := filter["resourceSubscriptions"].([]any); ok && len(uris) > 0 {
					filter["resourceSubscriptions"] = uris[0]
				}
			}),
		},
		{
			Name: "ack-of-everything", Does: "acknowledges changes of all lists for every filter",
			CaughtBy: []string{"subscriptions.ack.subset"},
			Apply:    onAcknowledged(requestAllLists),
		},
		{
			Name: "ack-of-undeclared", Does: "acknowledges changes of prompts without declaring prompts.listChanged",
			CaughtBy: []string{"subscriptions.ack.subset"},
			Apply: combine(withCapability("prompts", server.Object{}),
				onParamsWhen(requests("promptsListChanged"), func(_ server.Frame, params server.Object) {
					params["notifications"].(server.Object)["promptsListChanged"] = true
				})),
		},
	}
}

// subscriptionIDs are faults of the ids of subscriptions in notifications.
func subscriptionIDs() []Fault {
	return []Fault{
		{
			Name: "ack-untagged", Does: "leaves the id of the subscription out of acknowledgments",
			CaughtBy: []string{"subscriptions.id.present"},
			Apply:    onNotification(acknowledgedMethod, remove("_meta")),
		},
		{
			Name:     "change-untagged",
			Does:     "leaves the id of the subscription out of notifications of changes of prompts",
			CaughtBy: []string{"subscriptions.id.present"},
			Apply:    onNotification("notifications/prompts/list_changed", remove("_meta")),
		},
		{
			Name: "subscription-id-as-string", Does: "writes a numeric id of a subscription as a string",
			CaughtBy: []string{"subscriptions.id.equal"},
			Apply:    onSubscriptionID(func(id any, _ int64) any { return fmt.Sprint(id) }),
		},
		{
			Name: "subscription-id-of-its-own", Does: "makes the ids of subscriptions itself",
			CaughtBy: []string{"subscriptions.id.equal"},
			Apply:    onSubscriptionID(func(_ any, n int64) any { return fmt.Sprintf("subscription-%d", n) }),
		},
	}
}

// onSubscriptionID changes the ids of subscriptions in notifications; n counts the
// requests that opened streams.
func onSubscriptionID(edit func(id any, n int64) any) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		var opened atomic.Int64
		numbers := map[*server.Request]int64{}
		return func(f server.Frame) {
			if f.Kind == wire.Notification && isAbout(listenMethod)(f) && f.Method != cancelledMethod {
				if numbers[f.Request] == 0 {
					numbers[f.Request] = opened.Add(1)
				}
				f.Raw = editParams(f.Raw, func(params server.Object) {
					meta := params["_meta"].(server.Object)
					meta[spec.MetaSubscriptionID] = edit(meta[spec.MetaSubscriptionID], numbers[f.Request])
				})
			}
			next(f)
		}
	})
}

// subscriptionDelivery are faults in which notifications a stream delivers.
func subscriptionDelivery() []Fault {
	return []Fault{
		{
			Name: "filter-ignored", Does: "sends notifications of changes of all lists on every stream",
			CaughtBy: []string{"subscriptions.requested"},
			Apply:    widenFilter(requestAllLists),
		},
		{
			Name:     "filter-of-resources-ignored",
			Does:     "sends notifications of another resource to subscribers of one resource",
			CaughtBy: []string{"subscriptions.updated.scope"},
			Apply: widenFilter(func(filter server.Object) {
				if uris, ok := filter["resourceSubscriptions"].([]any); ok && len(uris) > 0 {
					filter["resourceSubscriptions"] = append(slices.Clone(uris), "library://books/b7")
				}
			}),
		},
		{
			Name: "change-on-newest-stream", Does: "sends notifications of changes of lists only on the newest stream",
			CaughtBy: []string{"subscriptions.delivered"},
			Apply:    notifyNewestStream,
		},
		{
			Name: "change-unsolicited", Does: "sends a notification of a resource without subscribers with every call",
			CaughtBy: []string{"subscriptions.unsolicited"},
			Apply:    notifyUpdated("library://desk/ledger"),
		},
	}
}

// widenFilter serves a wider filter than the client requested, and acknowledges the
// requested one.
func widenFilter(widen func(filter server.Object)) apply {
	var requested sync.Map // the filter of the client, by request
	isWidened := func(f server.Frame) bool {
		_, ok := requested.Load(f.Request)
		return ok && f.Method == acknowledgedMethod
	}
	return combine(
		onRequest(listenMethod, func(r *server.Request) {
			if filter := filterOf(r); filter != nil {
				requested.Store(r, filter)
				wide := maps.Clone(filter)
				widen(wide)
				r.Params["notifications"] = wide
			}
		}),
		onParamsWhen(isWidened, func(f server.Frame, params server.Object) {
			params["notifications"], _ = requested.Load(f.Request)
		}),
	)
}

// notifyNewestStream sends notifications of changes of lists only on the stream that
// was acknowledged last.
func notifyNewestStream(o *server.Options) {
	onFrames(func(next server.FrameSink) server.FrameSink {
		var newest *server.Request
		return func(f server.Frame) {
			if f.Method == acknowledgedMethod {
				newest = f.Request
			}
			if !strings.HasSuffix(f.Method, "/list_changed") || f.Request == newest {
				next(f)
			}
		}
	})(o)
}
