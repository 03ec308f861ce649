package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

const (
	listen       = "subscriptions/listen"
	acknowledged = "notifications/subscriptions/acknowledged"
)

// subscriptions are the faults of basic/patterns/subscriptions.
func subscriptions() []Fault {
	return append(streamFaults(), []Fault{
		{
			Name: "listen-swallowed", Does: "neither acknowledges nor answers subscriptions/listen",
			CaughtBy: []string{"subscriptions.acknowledged"},
			Apply:    onLine(wire.Request, listen, func(wire.Message, server.FrameSink) {}),
		},
		{
			Name: "listen-answered-at-once", Does: "answers subscriptions/listen with a result, without acknowledgment",
			CaughtBy: []string{"subscriptions.acknowledged"},
			Apply: instead(listen, func(*server.Request) (any, *server.Error) {
				return complete(server.Object{}), nil
			}),
		},
		{
			Name: "listen-ends-at-once", Does: "ends each subscription as soon as it is acknowledged",
			CaughtBy: []string{"subscriptions.stays-open"},
			Apply:    all(withoutFrames("notifications/cancelled"), endsAtOnce),
		},
		{
			Name: "empty-filter-refused", Does: "refuses subscriptions/listen that asks for nothing",
			CaughtBy: []string{"subscriptions.filter.empty"},
			Apply: refuses(listen, func(r *server.Request) bool {
				filter, ok := r.Params["notifications"].(server.Object)
				return ok && len(filter) == 0
			}),
		},
		{
			Name: "filter-not-required", Does: "opens a stream for subscriptions/listen without a filter",
			CaughtBy: []string{"subscriptions.filter.missing"},
			Apply: onRequest(listen, func(r *server.Request) {
				if r.Params["notifications"] == nil {
					r.Params["notifications"] = server.Object{}
				}
			}),
		},
		{
			Name: "subscription-ends-by-error", Does: "ends open subscriptions by an error when it shuts down",
			CaughtBy: []string{"subscriptions.end.result"},
			Apply: all(withoutFrames("notifications/cancelled"), onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if r.Method == listen && problem == nil {
						return nil, &server.Error{Code: spec.InternalError, Message: "The library closes"}
					}
					return v, problem
				}
			})),
		},
		{
			Name: "subscription-end-untagged", Does: "ends subscriptions by a result without their id",
			CaughtBy: []string{"subscriptions.end.shape"},
			Apply: onResult(listen, func(o server.Object) {
				delete(o["_meta"].(server.Object), spec.MetaSubscriptionID)
			}),
		},
		{
			Name: "subscription-end-misnamed", Does: "ends subscriptions by a result with another id",
			CaughtBy: []string{"subscriptions.end.shape"},
			Apply: onResult(listen, func(o server.Object) {
				o["_meta"].(server.Object)[spec.MetaSubscriptionID] = "closing"
			}),
		},
		{
			Name: "cancel-ends-all", Does: "ends all subscriptions of the connection when one is cancelled",
			CaughtBy: []string{"lifecycle.listen.scoped"},
			Apply: onStreamCancel(func(cancelled json.RawMessage, others []json.RawMessage, cancel func(json.RawMessage) error) error {
				for _, id := range others {
					if err := cancel(id); err != nil {
						return err
					}
				}
				return cancel(cancelled)
			}),
		},
		{
			Name: "cancel-of-subscription-ignored", Does: "goes on with subscriptions that the client has cancelled",
			CaughtBy: []string{"subscriptions.cancelled"},
			Also:     map[string]string{"cancellation.subscription.unanswered": "a subscription that lasts is answered when the server ends"},
			Apply:    onStreamCancel(func(json.RawMessage, []json.RawMessage, func(json.RawMessage) error) error { return nil }),
		},
	}...)
}

// streamFaults are those of what a stream delivers.
func streamFaults() []Fault {
	return []Fault{
		{
			Name: "change-before-ack", Does: "tells of a change of the tools before it acknowledges a subscription to them",
			CaughtBy: []string{"subscriptions.ack.first"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					if filter, ok := asked(f); ok && filter["toolsListChanged"] == true {
						next(raw(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{%q:%s}}}`, spec.MetaSubscriptionID, f.Request.ID.Raw))
					}
					next(f)
				}
			}),
		},
		{
			Name: "ack-without-filter", Does: "acknowledges subscriptions without saying to what",
			CaughtBy: []string{"subscriptions.ack.shape"},
			Apply:    onParams(acknowledged, func(params server.Object) { delete(params, "notifications") }),
		},
		{
			Name: "ack-uri-single", Does: "acknowledges subscriptions to resources by one URI instead of an array",
			CaughtBy: []string{"subscriptions.ack.shape"},
			Apply: onParams(acknowledged, func(params server.Object) {
				filter := params["notifications"].(server.Object)
				if uris, ok := filter["resourceSubscriptions"].([]any); ok && len(uris) > 0 {
					filter["resourceSubscriptions"] = uris[0]
				}
			}),
		},
		{
			Name: "ack-of-everything", Does: "acknowledges changes of all lists, whatever was asked for",
			CaughtBy: []string{"subscriptions.ack.subset"},
			Apply: onParams(acknowledged, func(params server.Object) {
				filter := params["notifications"].(server.Object)
				filter["toolsListChanged"], filter["promptsListChanged"], filter["resourcesListChanged"] = true, true, true
			}),
		},
		{
			Name: "ack-of-undeclared", Does: "acknowledges changes of prompts without declaring that it tells of them",
			CaughtBy: []string{"subscriptions.ack.subset"},
			Apply: all(func(o *server.Options) {
				o.Library = func(l *server.Library) { l.Capabilities["prompts"] = server.Object{} }
			}, onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					if filter, ok := asked(f); ok && filter["promptsListChanged"] == true {
						f.Raw = editParams(f.Raw, func(params server.Object) {
							params["notifications"].(server.Object)["promptsListChanged"] = true
						})
					}
					next(f)
				}
			})),
		},
		{
			Name: "ack-untagged", Does: "acknowledges subscriptions without their id",
			CaughtBy: []string{"subscriptions.id.present"},
			Apply:    onParams(acknowledged, func(params server.Object) { delete(params, "_meta") }),
		},
		{
			Name: "change-untagged", Does: "tells of changes of prompts without the id of the subscription",
			CaughtBy: []string{"subscriptions.id.present"},
			Apply:    onParams("notifications/prompts/list_changed", func(params server.Object) { delete(params, "_meta") }),
		},
		{
			Name: "subscription-id-as-string", Does: "writes the id of a subscription as a string where it is a number",
			CaughtBy: []string{"subscriptions.id.equal"},
			Apply: onTag(func(id any, _ int64) any {
				return fmt.Sprint(id)
			}),
		},
		{
			Name: "subscription-id-of-its-own", Does: "gives subscriptions ids of its own",
			CaughtBy: []string{"subscriptions.id.equal"},
			Apply: onTag(func(_ any, n int64) any {
				return fmt.Sprintf("subscription-%d", n)
			}),
		},
		{
			Name: "filter-ignored", Does: "tells of changes of all lists on every stream",
			CaughtBy: []string{"subscriptions.requested"},
			Apply: widened(func(filter server.Object) {
				filter["toolsListChanged"], filter["promptsListChanged"], filter["resourcesListChanged"] = true, true, true
			}),
		},
		{
			Name: "filter-of-resources-ignored", Does: "tells who watches one resource of another one too",
			CaughtBy: []string{"subscriptions.updated.scope"},
			Apply: widened(func(filter server.Object) {
				if uris, ok := filter["resourceSubscriptions"].([]any); ok && len(uris) > 0 {
					filter["resourceSubscriptions"] = append(append([]any{}, uris...), "library://books/b7")
				}
			}),
		},
		{
			Name: "change-on-newest-stream", Does: "tells of changes of lists only on the stream that was opened last",
			CaughtBy: []string{"subscriptions.delivered"},
			Apply:    onNewestStream("/list_changed"),
		},
		{
			Name: "change-unsolicited", Does: "tells of a resource that nobody watches with every call of a tool",
			CaughtBy: []string{"subscriptions.unsolicited"},
			Apply: beforeAnswer("tools/call", func(_ context.Context, r *server.Request) {
				r.Notify("notifications/resources/updated", server.Object{"uri": "library://desk/ledger"})
			}),
		},
	}
}

// asked returns the filter that an acknowledgment answers.
func asked(f server.Frame) (filter server.Object, ok bool) {
	if f.Method != acknowledged || f.Request == nil {
		return nil, false
	}
	filter, ok = f.Request.Params["notifications"].(server.Object)
	return filter, ok
}

// withoutFrames keeps messages of a method back.
func withoutFrames(method string) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if f.Kind != wire.Notification || f.Method != method {
				next(f)
			}
		}
	})
}

// refuses answers some requests of a method with error -32602.
func refuses(method string, which func(r *server.Request) bool) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == method && which(r) {
				return nil, &server.Error{Code: spec.InvalidParams, Message: "There is nothing to do"}
			}
			return next(ctx, r)
		}
	})
}

// onTag changes the subscription ids of notifications; n counts the requests
// that opened streams.
func onTag(edit func(id any, n int64) any) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		var opened atomic.Int64
		numbers := map[*server.Request]int64{}
		return func(f server.Frame) {
			if f.Kind == wire.Notification && f.Request != nil && f.Request.Method == listen && f.Method != "notifications/cancelled" {
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

// widened has the server serve a wider filter than the client asked for, and
// acknowledge the one that it asked for.
func widened(widen func(filter server.Object)) apply {
	var given sync.Map // the filter of the client, by request
	return all(
		onRequest(listen, func(r *server.Request) {
			if filter, ok := r.Params["notifications"].(server.Object); ok {
				given.Store(r, filter)
				wide := maps.Clone(filter)
				widen(wide)
				r.Params["notifications"] = wide
			}
		}),
		onFrames(func(next server.FrameSink) server.FrameSink {
			return func(f server.Frame) {
				if filter, ok := given.Load(f.Request); ok && f.Method == acknowledged {
					f.Raw = editParams(f.Raw, func(params server.Object) { params["notifications"] = filter })
				}
				next(f)
			}
		}),
	)
}

// onNewestStream keeps notifications of methods with that ending back on all
// streams but the one that was acknowledged last.
func onNewestStream(ending string) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		var newest *server.Request
		return func(f server.Frame) {
			if f.Method == acknowledged {
				newest = f.Request
			}
			if !strings.HasSuffix(f.Method, ending) || f.Request == newest {
				next(f)
			}
		}
	})
}

// endsAtOnce answers each subscription behind its acknowledgment, and not again.
func endsAtOnce(o *server.Options) {
	onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			switch {
			case f.Kind == wire.Result && f.Method == listen:
			case f.Method == acknowledged:
				next(f)
				result := complete(server.Object{})
				result["_meta"].(server.Object)[spec.MetaSubscriptionID] = json.RawMessage(f.Request.ID.Raw)
				next(raw(`{"jsonrpc":"2.0","id":%s,"result":%s}`, f.Request.ID.Raw, encode(result)))
			default:
				next(f)
			}
		}
	})(o)
}

// onStreamCancel handles notifications/cancelled of subscriptions in another
// way; cancel cancels one, others are those that are open beside it.
func onStreamCancel(handle func(cancelled json.RawMessage, others []json.RawMessage, cancel func(json.RawMessage) error) error) apply {
	return onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		var open []json.RawMessage
		return func(line []byte) error {
			m := wire.Parse(line)
			if m.Kind == wire.Request && m.Method() == listen {
				open = append(open, json.RawMessage(m.ID().Raw))
			}
			if m.Method() != "notifications/cancelled" {
				return next(line)
			}
			named, others, is := m.Params().Get("requestId").Raw, []json.RawMessage{}, false
			for _, id := range open {
				if string(id) == named {
					is = true
				} else {
					others = append(others, id)
				}
			}
			if !is {
				return next(line)
			}
			open = others
			return handle(json.RawMessage(named), others, func(id json.RawMessage) error {
				return next(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id))
			})
		}
	})
}
