package batching

import (
	"fmt"

	"github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// probes are the probes of basic/index#batching, which only 2025-03-26 has.
func probes() []check.Check {
	only := spec.Only(spec.V2025_03_26)
	return []check.Check{
		{
			ID:    "batching.received",
			Says:  "the requests of a batch are answered",
			Level: spec.Must,
			In:    only,
			Rules: []string{"batching-receive"},
			Probe: func(t *check.T) {
				b := batchOfTwo(t)
				if b.missing.Present() && b.status >= 400 {
					t.Fail("a result for each request of the batch", fmt.Sprintf("HTTP status %d", b.status), "a batch of two requests was refused with HTTP status %d", b.status)
				}
				if b.missing.Present() {
					t.Fail("a result for each request of the batch", "no answer", "a request of a batch of two, id %s, was not answered within %s", b.missing, t.Timeout())
				}
				for _, m := range b.answers {
					gomega.NewWithT(t).Expect(m).To(match.BeResult())
				}
				t.Send(check.Batch(batchedNotification, batchedNotification))
				t.Survives("a batch of two notifications")
			},
		},
		{
			ID:    "batching.answer.array",
			Says:  "a batch of requests is answered by one array",
			Level: spec.Should,
			In:    only,
			Rules: []string{"batching-response-array"},
			// batchAnsweredByArray accepts that the responses come one by one on an event
			// stream, where they may (basic/transports#sending-messages-to-the-server).
			Probe: func(t *check.T) {
				switch b := received(t); {
				case b.separate && b.streamed:
					t.NotObserved("the responses came on an event stream, where they may come one by one", "")
				case b.separate:
					t.Mark(b.loose)
					t.Fail("one array of two responses", b.loose.Message.Summary(), "the responses to a batch came one by one")
				}
			},
		},
		{
			ID:    "batching.answer.each",
			Says:  "each request of a batch has an answer of its own, an unknown method an error",
			Level: spec.Should,
			In:    only,
			Rules: []string{"batching-one-response-per-request"},
			Probe: func(t *check.T) {
				received(t)
				ids, elements := check.PingBatch(t, 3)
				elements[1] = t.Frame(ids[1], "mcpcheck/no-such-method", nil)
				from := t.Send(check.Batch(elements...))
				want := []func(wire.Message) string{resultMissing, errorMissing, resultMissing}
				for i, id := range ids {
					m, ok := t.Await(from, check.ResponseTo(id))
					if !ok {
						check.RequireAccepted(t, from)
						t.Fail("three responses", "no answer", "request %d of a batch of three was not answered", i+1)
					}
					if why := want[i](m); why != "" {
						t.Fail("result, error -32601, result", m.Summary(), "request %d of a batch %s", i+1, why)
					}
				}
			},
		},
		{
			ID:    "batching.notification.silent",
			Says:  "a notification in a batch of requests is not answered",
			Level: spec.Should,
			In:    only,
			Rules: []string{"batching-no-response-for-notifications"},
			Probe: func(t *check.T) {
				received(t)
				ids, elements := check.PingBatch(t, 2)
				from := t.Send(check.Batch(elements[0], batchedNotification, elements[1]))
				if !awaitAll(t, from, ids) {
					t.NotObserved("a batch of requests with a notification between them was not answered", "")
				}
				t.Forbid(from, "no answer to the notification in a batch", func(m wire.Message) bool {
					return check.IsErrorWithoutID(m) || m.Kind == wire.Result && !m.ID().Usable()
				})
			},
		},
		{
			ID:    "batching.notifications.silent",
			Says:  "a batch of notifications is not answered, not even by an empty array",
			Level: spec.Must,
			In:    only,
			Rules: []string{"batching-all-notifications-silent"},
			Probe: func(t *check.T) {
				received(t)
				from := t.Send(check.Batch(batchedNotification, batchedNotification))
				t.Forbid(from, "no answer to a batch of notifications", func(m wire.Message) bool {
					return check.IsErrorWithoutID(m) || m.Kind == wire.Result && !m.ID().Usable()
				})
				for _, e := range t.Frames(from) {
					if e.From == wire.Server && e.Message.Kind == wire.Batch && len(e.Message.Elements()) == 0 {
						t.Mark(e)
						t.Fail("no answer", "[]", "a batch of notifications was answered with an empty array")
					}
				}
			},
		},
		{
			ID:       "batching.empty",
			Says:     "an empty array is answered with one error -32600",
			Level:    spec.Should,
			In:       only,
			Rules:    []string{"batching-empty-array"},
			Malforms: true,
			Probe: func(t *check.T) {
				received(t)
				from := t.Send("[]")
				m, ok := t.AwaitBarrier(from, check.IsErrorWithoutID)
				if !ok {
					t.Survives("an empty array")
					if posting.RefusedByHTTP(t, from, "an empty array") {
						return
					}
					t.Fail("one error -32600", "no answer", "an empty array was not answered")
				}
				refusedOr(t, from, m, spec.InvalidRequest)
				for _, e := range t.Frames(from) {
					if e.From == wire.Server && e.Message.Kind == wire.Batch {
						t.Mark(e)
						t.Fail("one error, not in an array", "an array", "an empty array was answered with an array")
					}
				}
			},
		},
		{
			ID:       "batching.parse-error",
			Says:     "a batch that is not JSON as a whole is answered with one error -32700",
			Level:    spec.Should,
			In:       only,
			Rules:    []string{"batching-invalid-json"},
			Malforms: true,
			Probe: func(t *check.T) {
				received(t)
				ids, elements := check.PingBatch(t, 1)
				from := t.Send("[" + elements[0] + `,{"jsonrpc"`)
				m, ok := t.AwaitBarrier(from, func(m wire.Message) bool { return check.IsErrorWithoutID(m) || check.ResponseTo(ids[0])(m) })
				if !ok {
					t.Survives("a truncated batch")
					if posting.RefusedByHTTP(t, from, "a truncated batch") {
						return
					}
					t.Fail("one error -32700", "no answer", "a truncated batch was not answered")
				}
				refusedOr(t, from, m, spec.ParseError)
			},
		},
		{
			ID:       "batching.element.invalid",
			Says:     "what is no request in a batch is answered with an error of its own, beside the answers to the others",
			Level:    spec.Should,
			In:       only,
			Rules:    []string{"batching-invalid-elements"},
			Malforms: true,
			// invalidElement accepts that the array is refused as a whole, which the
			// example of JSON-RPC that the rule rests on does not exclude.
			Probe: func(t *check.T) {
				received(t)
				ids, elements := check.PingBatch(t, 1)
				from := t.Send(check.Batch("1", elements[0]))
				m, ok := t.AwaitBarrier(from, check.IsErrorWithoutID)
				if !ok {
					t.Survives("a batch with an element that is no request")
					if posting.RefusedByHTTP(t, from, "a batch with an element that is no request") {
						return
					}
					t.Fail("an error -32600 for the element", "no answer", "an element that is no request was not answered")
				}
				refusedOr(t, from, m, spec.InvalidRequest)
				if _, ok := t.AwaitBarrier(from, check.ResponseTo(ids[0])); !ok {
					t.Note("the request beside the invalid element was not answered: the array was refused as a whole")
				}
			},
		},
		{
			ID:       "jsonrpc.batch.survived",
			Says:     "a server of a revision without batches goes on answering after an array",
			Level:    spec.Robust,
			In:       spec.Since(spec.V2025_06_18),
			Spec:     "basic/transports#stdio",
			Malforms: true,
			Probe: func(t *check.T) {
				ids, elements := check.PingBatch(t, 2)
				from := t.Send(check.Batch(elements...))
				t.Survives("an array")
				t.HTTP().Settle(from)
				for _, m := range t.Received(from) {
					if m.IsResponse() && (m.ID().Equal(ids[0]) || m.ID().Equal(ids[1]) || !m.ID().Usable()) {
						t.Note("an array of two requests was answered with %s", m.Summary())
						return
					}
				}
				if t.HTTP().Refused(from) {
					t.Note("an array of two requests was refused by HTTP alone")
					return
				}
				t.Note("an array of two requests was not answered")
			},
		},
	}
}

// batch is what came of a batch of two requests, asked for once.
type batch struct {
	missing  wire.ID        // of a request that was not answered, if any
	status   int            // of HTTP, with which the batch was answered, if there was any
	answers  []wire.Message // in the order of the requests
	loose    wire.Entry     // a response that came outside of an array
	separate bool
	streamed bool // it came on an event stream
}

var batchOfTwoKey = check.NewKey[batch]("batch of two")

func batchOfTwo(t *check.T) batch {
	return check.Once(t, batchOfTwoKey, func() (b batch) {
		ids, elements := check.PingBatch(t, 2)
		from := t.Send(check.Batch(elements...))
		for _, id := range ids {
			m, ok := t.Await(from, func(m wire.Message) bool {
				// What answers the POST as a whole leaves no request to wait for.
				return check.ResponseTo(id)(m) || posting.OverHTTP(t) && check.IsErrorWithoutID(m)
			})
			if !ok || !check.ResponseTo(id)(m) {
				b.missing, b.status = id, t.HTTP().Status(from)
				return b
			}
			b.answers = append(b.answers, m)
		}
		for _, e := range t.Frames(from) {
			if e.From == wire.Server && e.Message.Kind != wire.Batch && e.Message.ID().Equal(ids[0]) {
				b.loose, b.separate = e, true
				b.streamed = e.HTTP != nil && e.HTTP.Event != nil
			}
		}
		return b
	})
}

// received returns the batch of two, or says that nothing about batches can be
// observed where it was not answered, which is judged once.
func received(t *check.T) batch {
	b := batchOfTwo(t)
	if b.missing.Present() {
		t.NotObserved("batches are not answered", "")
	}
	return b
}

func awaitAll(t *check.T, from int, ids []wire.ID) bool {
	for _, id := range ids {
		if _, ok := t.Await(from, check.ResponseTo(id)); !ok {
			return false
		}
	}
	return true
}

func resultMissing(m wire.Message) string {
	if m.Kind != wire.Result {
		return "was not answered with a result beside one that fails"
	}
	return ""
}

func errorMissing(m wire.Message) string {
	if code, _ := m.Code(); code != spec.MethodNotFound {
		return "for an unknown method was not answered with error -32601"
	}
	return ""
}

const batchedNotification = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mcpcheck-never-sent"}}`

// refusedOr asserts an error of a code, or, over HTTP, a status by which the
// batch was refused as a whole: then any error tells why.
func refusedOr(t *check.T, at int, m wire.Message, code int) {
	if status := t.HTTP().Status(at); m.Kind == wire.Error && posting.BlamesClient(status) {
		t.Note("the batch was refused with status %d and %s", status, m.Summary())
		return
	}
	gomega.NewWithT(t).Expect(m).To(match.BeError(code))
}
