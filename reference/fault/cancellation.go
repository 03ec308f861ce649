package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// cancellation are the faults of basic/utilities/cancellation, and of
// basic/patterns/cancellation and basic/transports/stdio#cancellation.
func cancellation() []Fault {
	unanswered := []string{"cancellation.call.unanswered", "cancellation.call.silent"}
	return []Fault{
		{
			Name: "cancelled-call-failed", Does: "answers a call that was cancelled with an error, at once",
			CaughtBy: unanswered,
			Apply: onCancelled("tools/call", func(id wire.ID, out server.FrameSink) {
				out(raw(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"The request was cancelled"}}`, id.Raw))
			}),
		},
		{
			Name: "cancelled-call-concluded", Does: "answers a call that was cancelled with a result that says so",
			CaughtBy: unanswered,
			Apply: onCancelled("tools/call", func(id wire.ID, out server.FrameSink) {
				out(response(id, complete(server.Object{"content": []any{server.Object{"type": "text", "text": "Broken off."}}, "isError": true})))
			}),
		},
		{
			Name: "cancelled-call-goes-on", Does: "withholds the answer to a call that was cancelled, and goes on with the work",
			CaughtBy: []string{"cancellation.call.stopped", "cancellation.call.silent"},
			Apply:    goesOn,
		},
		{
			Name: "cancelled-subscription-answered", Does: "answers a subscription that was cancelled as one that it ends itself",
			CaughtBy: []string{"cancellation.subscription.unanswered"},
			Apply: onCancelled("subscriptions/listen", func(id wire.ID, out server.FrameSink) {
				ended := complete(nil)
				ended["_meta"].(server.Object)[spec.MetaSubscriptionID] = json.RawMessage(id.Raw)
				out(response(id, ended))
			}),
		},
		{
			Name: "cancel-unknown-answered", Does: "answers a cancellation of an unknown request with an error",
			CaughtBy: []string{"cancellation.unknown.ignored"},
			Apply: onStrangeCancel(func(m wire.Message, known bool, out server.FrameSink) error {
				if !known && m.Params().Get("requestId").Raw == "987654321" {
					out(raw(`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"No such request"}}`))
				}
				return nil
			}),
		},
		{
			Name: "cancel-unknown-fatal", Does: "ends at a cancellation, with a reason, of an unknown request",
			CaughtBy: []string{"cancellation.unknown.ignored"},
			Apply: onStrangeCancel(func(m wire.Message, known bool, _ server.FrameSink) error {
				if id := (wire.ID{Raw: m.Params().Get("requestId").Raw}); !known && id.Usable() && m.Params().Get("reason").Exists() {
					return fmt.Errorf("request %s does not exist", id)
				}
				return nil
			}),
		},
		{
			Name: "cancel-completed-answered", Does: "answers a cancellation that comes late with an error without id",
			CaughtBy: []string{"cancellation.completed.ignored"},
			Apply: onStrangeCancel(func(m wire.Message, known bool, out server.FrameSink) error {
				if known && m.Params().Get("reason").Exists() {
					out(raw(`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"The request has ended"}}`))
				}
				return nil
			}),
		},
		{
			Name: "cancel-completed-fatal", Does: "ends at a cancellation, with a reason, that comes late",
			CaughtBy: []string{"cancellation.completed.ignored"},
			Apply: onStrangeCancel(func(m wire.Message, known bool, _ server.FrameSink) error {
				if known && m.Params().Get("reason").Exists() {
					return errors.New("the request has ended")
				}
				return nil
			}),
		},
		{
			Name: "cancel-nothing-answered", Does: "answers a cancellation without parameters with an error",
			CaughtBy: []string{"cancellation.malformed.ignored"},
			Apply: onStrangeCancel(func(m wire.Message, _ bool, out server.FrameSink) error {
				if !m.Params().Exists() {
					out(raw(`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Which request?"}}`))
				}
				return nil
			}),
		},
		{
			Name: "cancel-null-fatal", Does: "ends at a cancellation of the request null",
			CaughtBy: []string{"cancellation.malformed.ignored"},
			Apply: onStrangeCancel(func(m wire.Message, _ bool, _ server.FrameSink) error {
				if m.Params().Get("requestId").Raw == "null" {
					return errors.New("request null does not exist")
				}
				return nil
			}),
		},
		{
			Name: "cancel-race-fatal", Does: "ends when the request that came last is cancelled while its answer is out",
			CaughtBy: []string{"cancellation.race"},
			Apply:    raceFatal,
		},
		{
			Name: "cancels-for-client", Does: "sends a cancellation of each request for prompts and then answers it",
			CaughtBy: []string{"cancellation.sent.own", "cancellation.sent.subscription"},
			Apply:    cancelsBefore(func(id wire.ID) string { return `{"requestId":` + id.Raw + `,"reason":"the prompts are shut away"}` }),
		},
		{
			Name: "cancels-true", Does: "sends cancellations whose requestId is true",
			CaughtBy: []string{"cancellation.sent.params"},
			Apply:    cancelsBefore(func(wire.ID) string { return `{"requestId":true}` }),
		},
	}
}

// response is the frame of a result.
func response(id wire.ID, result server.Object) server.Frame {
	return raw(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id.Raw, encode(result))
}

// inFlight keeps the requests of a method that are being served, by key of the
// id, from the time they are taken up.
type inFlight struct {
	mu sync.Mutex
	n  map[string]int
}

func (f *inFlight) add(id wire.ID, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n[id.Key()] += n
}

func (f *inFlight) has(id wire.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n[id.Key()] > 0
}

// watch notes the requests of the method while they are served.
func (f *inFlight) watch(method string) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == method {
				f.add(r.ID, 1)
				defer f.add(r.ID, -1)
			}
			return next(ctx, r)
		}
	})
}

// onCancelled does something after a request of the method was cancelled in
// flight.
func onCancelled(method string, do func(id wire.ID, out server.FrameSink)) apply {
	return func(o *server.Options) {
		running := &inFlight{n: map[string]int{}}
		running.watch(method)(o)
		onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
			return func(line []byte) error {
				id, cancels := cancelledID(line)
				cancels = cancels && running.has(id)
				err := next(line)
				if cancels && err == nil {
					do(id, out)
				}
				return err
			}
		})(o)
	}
}

// cancelledID returns the id that a cancellation names.
func cancelledID(line []byte) (wire.ID, bool) {
	m := wire.Parse(line)
	return wire.ID{Raw: m.Params().Get("requestId").Raw}, m.Method() == "notifications/cancelled"
}

// onStrangeCancel does something about cancellations of what is not in flight;
// known tells whether the id was that of a request before.
func onStrangeCancel(do func(m wire.Message, known bool, out server.FrameSink) error) apply {
	return onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
		seen := map[string]bool{}
		subscriptions := map[string]bool{}
		return func(line []byte) error {
			m := wire.Parse(line)
			if m.Kind == wire.Request {
				seen[m.ID().Key()] = true
				subscriptions[m.ID().Key()] = m.Method() == "subscriptions/listen" || m.Method() == "tools/call"
			}
			if err := next(line); err != nil || m.Method() != "notifications/cancelled" {
				return err
			}
			id := wire.ID{Raw: m.Params().Get("requestId").Raw}.Key()
			if subscriptions[id] {
				return nil
			}
			return do(m, seen[id], out)
		}
	})
}

// goesOn hides cancellations of calls from the server, and its answers to these
// from the client.
func goesOn(o *server.Options) {
	running := &inFlight{n: map[string]int{}}
	running.watch("tools/call")(o)
	hidden := &inFlight{n: map[string]int{}}
	onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		return func(line []byte) error {
			if id, cancels := cancelledID(line); cancels && running.has(id) {
				hidden.add(id, 1)
				return nil
			}
			return next(line)
		}
	})(o)
	onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if f.Request == nil || f.Kind == wire.Notification || !hidden.has(f.Request.ID) {
				next(f)
			}
		}
	})(o)
}

// raceFatal lets cancellations with a reason be, which are told apart.
func raceFatal(o *server.Options) {
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

// cancelsBefore sends a cancellation with such params before each answer to
// prompts/list.
func cancelsBefore(params func(id wire.ID) string) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if f.Method == "prompts/list" && f.Request != nil {
				next(raw(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":%s}`, params(f.Request.ID)))
			}
			next(f)
		}
	})
}
