package fault

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// batchingFaults are the faults of basic/index#batching, which only 2025-03-26 has.
func batchingFaults() []Fault { return append(batchingStdio(), overHTTP(batchingHTTP()...)...) }

// batchingStdio are faults in how batches are received and answered.
func batchingStdio() []Fault {
	return []Fault{
		{
			Name: "batch-dropped", Does: "does not answer batches",
			CaughtBy: []string{"batching.received"},
			Apply: ignoreLines(func(m wire.Message) bool {
				return isFilledBatch(m) && hasOnly(m, wire.Request, wire.Notification)
			}),
		},
		{
			Name: "batch-answered-one-by-one", Does: "answers each request of a batch by a line of its own",
			CaughtBy: []string{"batching.answer.array"},
			Apply: onBatchAnswer(func(next server.FrameSink, elements [][]byte) {
				for _, e := range elements {
					next(server.Frame{Raw: e, Kind: wire.Parse(e).Kind})
				}
			}),
		},
		{
			Name: "batch-loses-errors", Does: "leaves the errors for unknown methods out of the answer to a batch",
			CaughtBy: []string{"batching.answer.each"},
			Apply: withoutBatchElements(func(m wire.Message) bool {
				code, _ := m.ErrorCode()
				return code == spec.MethodNotFound
			}),
		},
		{
			Name:     "batch-answers-notification",
			Does:     "sends an error without id for a notification between the requests of a batch",
			CaughtBy: []string{"batching.notification.silent"},
			Apply: onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
				return func(line []byte) error {
					m := wire.Parse(line)
					mixed := !hasOnly(m, wire.Request) && !hasOnly(m, wire.Notification)
					if m.Kind == wire.Batch && mixed && hasOnly(m, wire.Request, wire.Notification) {
						answerNotification(m, out)
					}
					return next(line)
				}
			}),
		},
		{
			Name: "notifications-answered-by-empty-array", Does: "answers a batch of notifications with an empty array",
			CaughtBy: []string{"batching.notifications.silent"},
			Apply: onLine(func(m wire.Message) bool { return isFilledBatch(m) && hasOnly(m, wire.Notification) },
				func(_ wire.Message, out server.FrameSink) { out(frameOf(`[]`)) }),
		},
		{
			Name: "empty-batch-silent", Does: "does not answer empty arrays",
			CaughtBy: []string{"batching.empty"},
			Apply:    ignoreLines(isEmptyBatch),
		},
		{
			Name: "truncated-batch-silent", Does: "does not answer arrays that are cut short",
			CaughtBy: []string{"batching.parse-error"},
			Apply:    ignoreLines(isTruncatedBatch),
		},
		{
			Name: "exits-on-array", Does: "exits on an array",
			CaughtBy: []string{"batching.survived"},
			Apply:    exitOn(isMessage(wire.Batch, ""), "the message is an array"),
		},
		{
			Name: "batch-served", Does: "serves the requests of an array one by one",
			CaughtBy: []string{"batching.served"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					m := wire.Parse(line)
					if !isFilledBatch(m) {
						return next(line)
					}
					for _, e := range m.Elements() {
						if err := next(e.Raw); err != nil {
							return err
						}
					}
					return nil
				}
			}),
		},
		{
			Name:     "invalid-element-silent",
			Does:     "leaves the answers to elements that are not requests out of the answer to a batch",
			CaughtBy: []string{"batching.element.invalid"},
			Apply:    withoutBatchElements(func(m wire.Message) bool { return !m.ID().IsValid() }),
		},
	}
}

// batchingHTTP answer arrays by the wrong status.
func batchingHTTP() []Fault {
	fault := func(name, does, caughtBy string, matches messageMatcher, status int) Fault {
		return newFault(name, does, caughtBy, respond(posts(matches), status, "", ""))
	}
	beginsWithNumber := func(m wire.Message) bool {
		return m.Kind == wire.Batch && bytes.HasPrefix(m.Raw, []byte("[1,"))
	}
	hasRequest := func(m wire.Message) bool {
		return m.Kind == wire.Batch && slices.ContainsFunc(m.Elements(), isMessage(wire.Request, ""))
	}
	return []Fault{
		fault("http-empty-batch-fails", "answers an empty array with status 500", "batching.empty", isEmptyBatch,
			http.StatusInternalServerError),
		fault("http-truncated-batch-accepted", "accepts an array that is cut short with status 202",
			"batching.parse-error",
			isTruncatedBatch, http.StatusAccepted),
		fault("http-truncated-batch-fails", "answers an array that is cut short with status 500",
			"batching.parse-error", isTruncatedBatch, http.StatusInternalServerError),
		fault("http-odd-batch-accepted", "accepts an array that holds a number with status 202",
			"batching.element.invalid",
			beginsWithNumber, http.StatusAccepted),
		{
			Name: "batch-processed", Does: "processes arrays of requests, and answers each on an event stream",
			In: spec.Between(spec.V2025_06_18, spec.V2025_11_25), CaughtBy: []string{"batching.served"},
			Also: map[string]string{
				"streamable-http.event.priming": "the streams of its arrays begin with an answer",
			},
			Apply: whenHTTP(posts(isMessage(wire.Batch, "")), serveElements),
		},
		fault("http-batch-refused", "refuses arrays of requests with status 400", "batching.received", hasRequest,
			http.StatusBadRequest),
	}
}

func isEmptyBatch(m wire.Message) bool  { return m.Kind == wire.Batch && len(m.Elements()) == 0 }
func isFilledBatch(m wire.Message) bool { return m.Kind == wire.Batch && len(m.Elements()) > 0 }

// isTruncatedBatch matches what begins an array and is not JSON.
func isTruncatedBatch(m wire.Message) bool {
	return m.SyntaxError != nil && bytes.HasPrefix(m.Raw, []byte("["))
}

// hasOnly reports whether a batch has no messages but those of the kinds.
func hasOnly(batch wire.Message, kinds ...wire.Kind) bool {
	return !slices.ContainsFunc(batch.Elements(), func(m wire.Message) bool { return !slices.Contains(kinds, m.Kind) })
}

// onBatchAnswer sends the elements of the answer to a batch in another way.
func onBatchAnswer(send func(next server.FrameSink, elements [][]byte)) apply {
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
			send(next, elements)
		}
	})
}

// withoutBatchElements leaves the elements that match out of the answer to a batch.
func withoutBatchElements(matches messageMatcher) apply {
	return onBatchAnswer(func(next server.FrameSink, elements [][]byte) {
		elements = slices.DeleteFunc(elements, func(e []byte) bool { return matches(wire.Parse(e)) })
		next(server.Frame{
			Raw: slices.Concat([]byte("["), bytes.Join(elements, []byte(",")), []byte("]")), Kind: wire.Batch,
		})
	})
}
