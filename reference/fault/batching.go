package fault

import (
	"bytes"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// batching are the faults of basic/index#batching, which only 2025-03-26 has.
func batching() []Fault {
	return []Fault{
		{
			Name: "batch-dropped", Does: "drops batches of messages",
			CaughtBy: []string{"batching.received"},
			Apply: dropBatches(func(b wire.Message) bool {
				return len(b.Elements()) > 0 && allKinds(b, wire.Request, wire.Notification)
			}),
		},
		{
			Name: "batch-answered-one-by-one", Does: "answers the requests of a batch each by a line of its own",
			CaughtBy: []string{"batching.answer.array"},
			Apply: onBatch(func(elements [][]byte) [][]byte { return elements }, func(next server.FrameSink, elements [][]byte) {
				for _, e := range elements {
					next(server.Frame{Raw: e, Kind: wire.Parse(e).Kind})
				}
			}),
		},
		{
			Name: "batch-loses-errors", Does: "leaves the errors for unknown methods out of the answer to a batch",
			CaughtBy: []string{"batching.answer.each"},
			Apply: onBatch(func(elements [][]byte) [][]byte {
				return slices.DeleteFunc(elements, func(e []byte) bool {
					code, _ := wire.Parse(e).Code()
					return code == spec.MethodNotFound
				})
			}, asArray),
		},
		{
			Name: "batch-answers-notification", Does: "adds an error without id for a notification between the requests of a batch",
			CaughtBy: []string{"batching.notification.silent"},
			Apply: onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
				return func(line []byte) error {
					m := wire.Parse(line)
					if m.Kind == wire.Batch && !allKinds(m, wire.Request) && !allKinds(m, wire.Notification) && allKinds(m, wire.Request, wire.Notification) {
						complain(m, out)
					}
					return next(line)
				}
			}),
		},
		{
			Name: "notifications-answered-by-empty-array", Does: "answers a batch of notifications with an empty array",
			CaughtBy: []string{"batching.notifications.silent"},
			Apply: onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if m := wire.Parse(line); m.Kind == wire.Batch && len(m.Elements()) > 0 && allKinds(m, wire.Notification) {
						out(raw(`[]`))
						return nil
					}
					return next(line)
				}
			}),
		},
		{
			Name: "empty-batch-silent", Does: "drops empty arrays",
			CaughtBy: []string{"batching.empty"},
			Apply:    dropBatches(func(b wire.Message) bool { return len(b.Elements()) == 0 }),
		},
		{
			Name: "truncated-batch-silent", Does: "drops arrays that are cut short",
			CaughtBy: []string{"batching.parse-error"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if bytes.HasPrefix(line, []byte("[")) && wire.Parse(line).Fault != nil {
						return nil
					}
					return next(line)
				}
			}),
		},
		{
			Name: "invalid-element-silent", Does: "leaves out answers to elements of a batch that are no requests",
			CaughtBy: []string{"batching.element.invalid"},
			Apply: onBatch(func(elements [][]byte) [][]byte {
				return slices.DeleteFunc(elements, func(e []byte) bool { return !wire.Parse(e).ID().Usable() })
			}, asArray),
		},
	}
}

func allKinds(batch wire.Message, kinds ...wire.Kind) bool {
	return !slices.ContainsFunc(batch.Elements(), func(m wire.Message) bool { return !slices.Contains(kinds, m.Kind) })
}

// dropBatches has the server not see batches that fit.
func dropBatches(fits func(wire.Message) bool) apply {
	return onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		return func(line []byte) error {
			if m := wire.Parse(line); m.Kind == wire.Batch && fits(m) {
				return nil
			}
			return next(line)
		}
	})
}

// onBatch changes the responses in the answer to a batch, and how they go out.
func onBatch(edit func(elements [][]byte) [][]byte, send func(next server.FrameSink, elements [][]byte)) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if f.Kind != wire.Batch {
				next(f)
				return
			}
			var elements [][]byte
			for _, m := range wire.Parse(f.Raw).Elements() {
				elements = append(elements, m.Raw)
			}
			send(next, edit(elements))
		}
	})
}

func asArray(next server.FrameSink, elements [][]byte) {
	next(server.Frame{Raw: append(append([]byte("["), bytes.Join(elements, []byte(","))...), ']'), Kind: wire.Batch})
}
