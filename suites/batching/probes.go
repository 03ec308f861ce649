package batching

import (
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// noBatchSent is why most probes of this page are not observed where their body gave
// no evidence: they end with a reason of their own if the server answers no batch.
const noBatchSent = "no batch was sent"

// answerBatches is what helps then.
const answerBatches = "answer JSON-RPC batches, which 2025-03-26 requires servers to receive"

// only is the revision that has batches.
var only = spec.Only(spec.V2025_03_26)

// probes returns the probes of basic/index#batching, which only 2025-03-26 has.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "batching.received",
			Says:  "the server answers each request of a batch with a result",
			Level: spec.Must,
			In:    only,
			Rules: []string{"batching-receive"},
			Idle:  noBatchSent,
			Hint:  answerBatches,
			Probe: func(t *check.T) {
				const want = "a result for each request of the batch"
				b := batchOfTwo(t)
				if b.missing.IsPresent() && b.status >= 400 {
					t.Fail(want, fmt.Sprintf("HTTP status %d", b.status),
						"a batch of two requests was refused with HTTP status %d", b.status)
				}
				if b.missing.IsPresent() {
					t.Fail(want, "no answer",
						"a request of a batch of two, id %s, was not answered within %s", b.missing, t.Timeout())
				}
				for _, m := range b.answers {
					match.Expect(t, m).To(match.BeResult(), "a request of a batch of two")
					t.Saw()
				}
				t.Send(check.Batch(batchedNotification, batchedNotification))
				t.Survives("a batch of two notifications")
			},
		},
		{
			ID:    "batching.answer.array",
			Says:  "the server answers a batch of requests with one array",
			Level: spec.Should,
			In:    only,
			Rules: []string{"batching-response-array"},
			Idle:  "the responses came on an event stream, where they may come one by one",
			Hint:  "send the responses to a batch in one array, also on an event stream",
			// On an event stream the responses may come one by one
			// (basic/transports#sending-messages-to-the-server).
			Probe: func(t *check.T) {
				b := requireBatchOfTwo(t)
				if b.separate && b.streamed {
					return
				}
				if b.separate {
					t.Mark(b.loose)
					t.Fail("one array of two responses", b.loose.Message.Summary(),
						"the responses to a batch came one by one")
				}
				t.Saw()
			},
		},
		{
			ID:    "batching.answer.each",
			Says:  "the server answers each request of a batch by itself, one for an unknown method with an error",
			Level: spec.Should,
			In:    only,
			Rules: []string{"batching-one-response-per-request"},
			Idle:  noBatchSent,
			Hint:  answerBatches,
			Probe: func(t *check.T) {
				requireBatchOfTwo(t)
				ids, elements := check.PingBatch(t, 3)
				elements[1] = t.Frame(ids[1], "mcpcheck/no-such-method", nil)
				from := t.Send(check.Batch(elements...))
				for i, id := range ids {
					m, ok := t.Await(from, check.ResponseTo(id))
					if !ok {
						check.RequireAccepted(t, from)
						t.Fail("three responses", "no answer", "request %d of a batch of three was not answered", i+1)
					}
					if i == 1 {
						match.Expect(t, m).To(match.BeError(spec.MethodNotFound),
							"the request of a batch for an unknown method")
					} else {
						match.Expect(t, m).To(match.BeResult(), "request %d of a batch, beside one that fails", i+1)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "batching.notification.silent",
			Says:  "the server does not answer a notification in a batch of requests",
			Level: spec.Should,
			In:    only,
			Rules: []string{"batching-no-response-for-notifications"},
			Idle:  "a batch of requests with a notification between them was not answered",
			Hint:  answerBatches,
			Probe: func(t *check.T) {
				requireBatchOfTwo(t)
				ids, elements := check.PingBatch(t, 2)
				from := t.Send(check.Batch(elements[0], batchedNotification, elements[1]))
				if !awaitResponses(t, from, ids) {
					return
				}
				t.Forbid(from, "no answer to the notification in a batch", answersNoRequest)
				t.Saw()
			},
		},
		{
			ID:    "batching.notifications.silent",
			Says:  "the server does not answer a batch of notifications, not even with an empty array",
			Level: spec.Must,
			In:    only,
			Rules: []string{"batching-all-notifications-silent"},
			Idle:  noBatchSent,
			Hint:  answerBatches,
			Probe: func(t *check.T) {
				requireBatchOfTwo(t)
				from := t.Send(check.Batch(batchedNotification, batchedNotification))
				t.Forbid(from, "no answer to a batch of notifications", answersNoRequest)
				for e := range t.Frames(from) {
					if e.From == wire.Server && e.Message.Kind == wire.Batch && len(e.Message.Elements()) == 0 {
						t.Mark(e)
						t.Fail("no answer", "[]", "a batch of notifications was answered with an empty array")
					}
				}
				t.Saw()
			},
		},
		{
			ID:       "batching.empty",
			Says:     "the server answers an empty array with one error -32600",
			Level:    spec.Should,
			In:       only,
			Rules:    []string{"batching-empty-array"},
			Idle:     noBatchSent,
			Hint:     answerBatches,
			Malforms: true,
			// Over HTTP an array of any number of notifications and responses alone is accepted
			// with status 202 (basic/transports#sending-messages-to-the-server): also of none.
			Probe: func(t *check.T) {
				requireBatchOfTwo(t)
				const what = "an empty array"
				from := t.Send("[]")
				m, ok := t.AwaitBarrier(from, check.IsErrorWithoutID)
				switch {
				case !ok && t.HTTP().Status(from) == http.StatusAccepted:
					t.Note("an empty array was accepted with status 202")
				case !ok:
					m, ok = errorOrRefusal(t, from, what, "one error -32600", check.IsErrorWithoutID)
				}
				if ok {
					expectErrorOrRefusal(t, from, what, m, spec.InvalidRequest)
					for e := range t.Frames(from) {
						if e.From == wire.Server && e.Message.Kind == wire.Batch {
							t.Mark(e)
							t.Fail("one error, not in an array", "an array",
								"an empty array was answered with an array")
						}
					}
				}
				t.Saw()
			},
		},
		{
			ID:       "batching.parse-error",
			Says:     "the server answers a batch that is not JSON as a whole with one error -32700",
			Level:    spec.Should,
			In:       only,
			Rules:    []string{"batching-invalid-json"},
			Idle:     noBatchSent,
			Hint:     answerBatches,
			Malforms: true,
			Probe: func(t *check.T) {
				requireBatchOfTwo(t)
				const what = "a truncated batch"
				ids, elements := check.PingBatch(t, 1)
				from := t.Send("[" + elements[0] + `,{"jsonrpc"`)
				if failsAtText(t, from) && failsAtText(t, t.Send(`{"jsonrpc":"2.0","method":}`)) {
					t.NotObserved("all text that is not JSON fails, which jsonrpc.parse-error reports", "")
				}
				m, ok := errorOrRefusal(t, from, what, "one error -32700", func(m wire.Message) bool {
					return check.IsErrorWithoutID(m) || check.ResponseTo(ids[0])(m)
				})
				if ok {
					expectErrorOrRefusal(t, from, what, m, spec.ParseError)
				}
				t.Saw()
			},
		},
		{
			ID:       "batching.element.invalid",
			Says:     "the server answers an invalid element of a batch with an error, beside the other answers",
			Level:    spec.Should,
			In:       only,
			Rules:    []string{"batching-invalid-elements"},
			Idle:     noBatchSent,
			Hint:     answerBatches,
			Malforms: true,
			// The server may refuse the array as a whole: the example of JSON-RPC that the
			// rule rests on does not exclude it.
			Probe: func(t *check.T) {
				requireBatchOfTwo(t)
				const what = "a batch with an element that is no request"
				ids, elements := check.PingBatch(t, 1)
				from := t.Send(check.Batch("1", elements[0]))
				m, ok := errorOrRefusal(t, from, what, "an error -32600 for the element", check.IsErrorWithoutID)
				if ok {
					expectErrorOrRefusal(t, from, what, m, spec.InvalidRequest)
					if _, ok := t.AwaitBarrier(from, check.ResponseTo(ids[0])); !ok {
						t.Note("the request beside the invalid element was not answered: the whole array was refused")
					}
				}
				t.Saw()
			},
		},
		{
			ID:       "batching.survived",
			Says:     "a server of a revision without batches still answers requests after it received an array",
			Level:    spec.Robust,
			In:       spec.Since(spec.V2025_06_18),
			Spec:     "basic/transports#stdio",
			Idle:     "no array was sent",
			Hint:     expect.HintReply,
			Malforms: true,
			Probe: func(t *check.T) {
				_, elements := check.PingBatch(t, 2)
				t.Send(check.Batch(elements...))
				t.Survives("an array")
				t.Saw()
			},
		},
		{
			ID: "batching.served",
			Says: "a server of a revision without batches serves no request in an array: " +
				"it speaks another revision than the one agreed on",
			Level:    spec.Robust,
			In:       spec.Since(spec.V2025_06_18),
			Spec:     "basic/transports#stdio",
			Idle:     "the server ended at an array, which another check reports",
			Hint:     "go on after an array was received",
			Malforms: true,
			// No clause says how an array is answered that no client may send. jsonrpc.batch.none
			// judges arrays that the server sends without having received one.
			Probe: func(t *check.T) {
				ids, elements := check.PingBatch(t, 2)
				from := t.Send(check.Batch(elements...))
				t.Forbid(from, "an error or a status of failure", func(m wire.Message) bool {
					return m.Kind == wire.Result && (m.ID().Equal(ids[0]) || m.ID().Equal(ids[1]))
				})
				if t.Over() == nil {
					t.Saw()
				}
			},
		},
	}
}

// batchedNotification is a notification that a server ignores: it cancels a request
// that was never sent.
const batchedNotification = `{"jsonrpc":"2.0","method":"notifications/cancelled",` +
	`"params":{"requestId":"mcpcheck-never-sent"}}`

// A batch is a batch of two requests with its answers.
type batch struct {
	missing  wire.ID        // of a request that was not answered, if any
	status   int            // of HTTP, with which the batch was answered, if there was any
	answers  []wire.Message // in the order of the requests
	loose    wire.Entry     // a response that came outside of an array
	separate bool           // loose is set
	streamed bool           // loose came on an event stream
}

var batchOfTwoKey = check.NewKey[batch]("batch of two")

// batchOfTwo sends a batch of two requests and returns it with its answers.
func batchOfTwo(t *check.T) batch {
	return check.Once(t, batchOfTwoKey, func() (b batch) {
		ids, elements := check.PingBatch(t, 2)
		from := t.Send(check.Batch(elements...))
		for _, id := range ids {
			m, ok := t.Await(from, func(m wire.Message) bool {
				// After an error for the POST as a whole no response to a request follows.
				return check.ResponseTo(id)(m) || posting.OverHTTP(t) && check.IsErrorWithoutID(m)
			})
			if !ok || !check.ResponseTo(id)(m) {
				b.missing, b.status = id, t.HTTP().Status(from)
				return b
			}
			b.answers = append(b.answers, m)
		}
		for e := range t.Frames(from) {
			if e.From == wire.Server && e.Message.Kind != wire.Batch && e.Message.ID().Equal(ids[0]) {
				b.loose, b.separate = e, true
				b.streamed = e.HTTP != nil && e.HTTP.Event != nil
			}
		}
		return b
	})
}

// requireBatchOfTwo returns the batch of two. It ends the body if the server does not
// answer batches, which batching.received judges.
func requireBatchOfTwo(t *check.T) batch {
	b := batchOfTwo(t)
	if b.missing.IsPresent() {
		t.NotObserved("batches are not answered", answerBatches)
	}
	return b
}

// awaitResponses waits for the responses to requests that were sent from a frame on,
// and reports whether all came.
func awaitResponses(t *check.T, from int, ids []wire.ID) bool {
	for _, id := range ids {
		if _, ok := t.Await(from, check.ResponseTo(id)); !ok {
			return false
		}
	}
	return true
}

// answersNoRequest reports whether a message is a response that names no request: it
// answers a notification.
func answersNoRequest(m wire.Message) bool {
	return check.IsErrorWithoutID(m) || m.Kind == wire.Result && !m.ID().IsValid()
}

// errorOrRefusal returns the answer to an invalid batch that was sent in a frame; ok
// is false if HTTP alone refused the batch. The check fails if there is neither.
func errorOrRefusal(
	t *check.T, from int, what, want string, isAnswer func(wire.Message) bool,
) (m wire.Message, ok bool) {
	if m, ok = t.AwaitBarrier(from, isAnswer); ok {
		return m, true
	}
	t.Survives(what)
	if !posting.ReportHTTPRefusal(t, from, what) {
		t.Fail(want, "no answer", "%s was not answered", what)
	}
	return m, false
}

// failsAtText reports whether a text was answered with a status of 5xx.
func failsAtText(t *check.T, from int) bool {
	t.HTTP().Settle(from)
	return t.HTTP().Status(from) >= 500
}

// expectErrorOrRefusal fails the check unless an answer is an error of a code. Over
// HTTP a status may refuse the batch as a whole: then any error is right.
func expectErrorOrRefusal(t *check.T, from int, what string, m wire.Message, code int) {
	if status := t.HTTP().Status(from); m.Kind == wire.Error && posting.IsClientError(status) {
		t.Note("the batch was refused with status %d and %s", status, m.Summary())
		return
	}
	match.Expect(t, m).To(match.BeError(code), what)
}
