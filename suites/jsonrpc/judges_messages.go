package jsonrpc

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// messageJudges are the judges of basic/index#messages (basic/messages in
// 2024-11-05): the shape of requests, notifications and responses.
func messageJudges() []check.Check {
	return slices.Concat(envelope(), requests(), responses(), errorResponses())
}

func envelope() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.message.shape",
			Says:  "every message is one JSON-RPC request, notification or response",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-messages-follow-spec"},
			// messageShape judges JSON that is no message at all. What is no JSON is
			// judged by the transport; an object with an id and nothing else is a response
			// without its member, which has a check of its own.
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					switch m := e.Message; {
					case m.Fault != nil || bareResponse(m):
					case m.Kind == wire.Invalid:
						j.Fail(e, "%s", m.Misfit.What)
					case m.Kind != wire.Batch:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "jsonrpc.version",
			Says:  `every message has a jsonrpc member that is the string "2.0"`,
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-version-literal"},
			Judge: func(j *check.J) { misfit(j, "jsonrpc", anyKind) },
		},
		{
			ID:    "jsonrpc.utf8",
			Says:  "every message is encoded in UTF-8",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"jsonrpc-utf8"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					switch m := e.Message; {
					case m.Fault != nil && m.Fault.Encoding:
						j.Fail(e, "a message is %v", m.Fault)
					case m.Fault == nil:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "jsonrpc.batch.none",
			Says:  "no array is sent as a message, since the revision has no batches",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"jsonrpc-no-batch-arrays"},
			Judge: func(j *check.J) { noBatch(j) },
		},
		{
			ID:    "jsonrpc.batch.none.advised",
			Says:  "no array is sent as a message, since the message type of the revision has none",
			Level: spec.Should,
			In:    spec.Only(spec.V2024_11_05),
			Rules: []string{"jsonrpc-no-batch-arrays"},
			Judge: func(j *check.J) { noBatch(j) },
		},
	}
}

func requests() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.method.string",
			Says:  "the method of a request or notification is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-method-string"},
			Judge: func(j *check.J) { misfit(j, "method", hasMethod) },
		},
		{
			ID:    "jsonrpc.method.reserved",
			Says:  `no method name starts with "rpc."`,
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-rpc-prefix-reserved"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					switch m := e.Message; {
					case strings.HasPrefix(m.Method(), "rpc."):
						j.Fail(e, "the method %q is reserved by JSON-RPC", wire.Clip(m.Method(), 80))
					case hasMethod(m):
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "jsonrpc.params.object",
			Says:  "params, where present, is an object",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-params-object"},
			// paramsObject leaves out requests for roots, of whose params there is nothing
			// else to say: those are judged by roots.request.params.
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					if !transcript.IsRootsRequest(j, e.Message) {
						misfitOf(j, e, "params", func(m wire.Message) bool { return hasMethod(m) && m.Params().Exists() })
					}
				}
			},
		},
		{
			ID:    "jsonrpc.request.id",
			Says:  "the id of a request of the server is a string or an integer",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-request-id-required", "jsonrpc-request-id-not-null"},
			// requestID leaves out notifications that carry an id, which have a check of
			// their own.
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					m := e.Message
					if m.Kind != wire.Request || strings.HasPrefix(m.Method(), "notifications/") {
						continue
					}
					if !m.ID().Usable() {
						j.Fail(e, "the id of a request is %s", wire.Clip(m.ID().String(), 80))
						continue
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "jsonrpc.request.id.unique",
			Says:  "no request of the server repeats an id",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-request-id-unique"},
			// requestIDUnique takes the same bytes in another exchange of HTTP for the same
			// request: which streams may carry it is judged with them.
			Judge: func(j *check.J) {
				seen := map[string]wire.Entry{}
				for _, e := range j.Sent() {
					m := e.Message
					if m.Kind != wire.Request || !m.ID().Usable() {
						continue
					}
					before, known := seen[m.ID().Key()]
					switch {
					case known && !e.Beside(before.Frame) && bytes.Equal(m.Raw, before.Message.Raw):
					case known:
						j.Fail(e, "the id %s was used before in this session", m.ID())
					default:
						seen[m.ID().Key()] = e
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "jsonrpc.request.none",
			Says:  "the server sends no requests",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-server-no-requests", "jsonrpc-binding-directions", "mrtr-server-input-via-result", "streamable-http-no-server-requests"},
			// noRequests takes a notification that carries an id for what it is meant as.
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					switch m := e.Message; {
					case m.Kind == wire.Request && !strings.HasPrefix(m.Method(), "notifications/"):
						j.Fail(e, "the server sent a %s", m.Summary())
					case anyKind(m):
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "jsonrpc.notification.no-id",
			Says:  "a notification has no id",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-notification-no-id"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					m := e.Message
					if !strings.HasPrefix(m.Method(), "notifications/") {
						continue
					}
					if m.ID().Present() {
						j.Fail(e, "%s has the id %s", m.Method(), m.ID())
						continue
					}
					j.Saw()
				}
			},
		},
	}
}

func responses() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.response.id",
			Says:  "a response carries the id of a request, with its type and value",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-response-id-match", "jsonrpc-response-id-type-preserved"},
			// responseID judges responses against the requests before them. An error
			// without a usable id answers what could not be read, and where such was sent,
			// an error with an id of its own making is judged apart and more mildly.
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					m := e.Message
					unread := !m.ID().Present() || m.ID().Null()
					switch {
					case !m.IsResponse() || m.Kind == wire.Error && unread:
					case unread:
						j.Fail(e, "a result carries %s", m.ID())
					default:
						if j.Asked(e) {
							j.Saw()
						} else if m.Kind == wire.Result && !lenient(j, e) || !j.Unreadable(e) {
							j.Fail(e, "the %s carries id %s, which no request had", m.Kind, wire.Clip(m.ID().String(), 80))
						}
					}
				}
			},
		},
		{
			ID:    "jsonrpc.response.once",
			Says:  "no request is answered twice",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-every-request-answered"},
			// answeredOnce counts answers against requests by id, since a client of
			// another hand may use an id again.
			Judge: func(j *check.J) {
				open := map[string]int{}
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						key := m.ID().Key()
						switch {
						case e.From != j.Of && !m.IsResponse():
							// Of an id that stands twice either may count.
							m.Value().ForEach(func(k, v gjson.Result) bool {
								if k.String() == "id" {
									open[wire.ID{Raw: v.Raw}.Key()]++
								}
								return true
							})
						case key == "" || m.ID().Null():
						case e.From == j.Of && m.IsResponse():
							asked, known := open[key]
							switch {
							case !known: // an id that no request had is judged apart
							case asked == 0 && j.Garbled(e): // it may answer that
							case asked == 0:
								j.Fail(e, "the request with id %s was answered before", m.ID())
							default:
								open[key]--
								j.Saw()
							}
						}
					}
				}
			},
		},
		{
			ID:    "jsonrpc.response.member",
			Says:  "a response has a result or an error",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-response-result-or-error", "jsonrpc-result-member"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					switch m := e.Message; {
					case bareResponse(m):
						j.Fail(e, "the response to id %s has neither result nor error", m.ID())
					case m.IsResponse():
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "jsonrpc.response.not-both",
			Says:  "a response does not have both result and error",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-response-not-both"},
			Judge: func(j *check.J) { misfit(j, "result", wire.Message.IsResponse) },
		},
		{
			ID:    "jsonrpc.result.object",
			Says:  "the result of a response is an object",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-result-object"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					switch m := e.Message; {
					case m.Kind != wire.Result:
					case !m.Result().IsObject():
						j.Fail(e, "the result is %s, not an object", wire.TypeName(m.Result()))
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "jsonrpc.result-type.present",
			Says:  "every result has a resultType that is a string",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-result-type-required"},
			Judge: func(j *check.J) {
				for _, e := range results(j) {
					if rt := e.Message.Result().Get("resultType"); rt.Type != gjson.String {
						j.Fail(e, "resultType is %s, not a string", wire.TypeName(rt))
						continue
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "jsonrpc.result-type.known",
			Says:  "every resultType is of the core set or of an extension that the client declares",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-result-type-closed-set"},
			Judge: func(j *check.J) {
				for _, e := range results(j) {
					switch rt := e.Message.Result().Get("resultType"); {
					case rt.Type != gjson.String:
					case rt.Str == "complete" || rt.Str == "input_required":
						j.Saw()
					case !ofExtension(j, e, rt.Str):
						j.Fail(e, "resultType is %q, which no declared extension defines", wire.Clip(rt.String(), 80))
					}
				}
			},
		},
		{
			ID:    "jsonrpc.result-type.complete",
			Says:  "a final result is complete; input_required only asks for input, where the method may",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-result-type-complete", "mrtr-other-methods-forbidden", "mrtr-at-least-one"},
			// resultTypeComplete: only three methods may ask for input
			// (basic/patterns/mrtr#supported-requests), and a result that asks names what
			// it asks for or the state to come back with.
			Judge: func(j *check.J) {
				mayAsk := []string{"tools/call", "prompts/get", "resources/read"}
				for _, e := range results(j) {
					result := e.Message.Result()
					switch result.Get("resultType").String() {
					case "complete":
						j.Saw()
					case "input_required":
						request, ok := j.RequestOf(e)
						switch {
						case ok && !slices.Contains(mayAsk, request.Message.Method()):
							j.Fail(e, "%s was answered with input_required", request.Message.Method())
						case !result.Get("inputRequests").Exists() && !result.Get("requestState").Exists():
							j.Fail(e, "an input_required result has neither inputRequests nor requestState")
						default:
							j.Saw()
						}
					}
				}
			},
		},
	}
}

func anyKind(m wire.Message) bool { return m.Kind != wire.Invalid && m.Kind != wire.Batch }

func hasMethod(m wire.Message) bool { return m.Kind == wire.Request || m.Kind == wire.Notification }

// misfit judges one member of the messages that are its subject.
func misfit(j *check.J, member string, subject func(wire.Message) bool) {

	for _, e := range j.Sent() {
		misfitOf(j, e, member, subject)
	}

}

func misfitOf(j *check.J, e wire.Entry, member string, subject func(wire.Message) bool) {
	switch m := e.Message; {
	case m.Misfit != nil && m.Misfit.Member == member && m.Kind != wire.Invalid:
		j.Fail(e, "%s", m.Misfit.What)
	case subject(m):
		j.Saw()
	}
}

func bareResponse(m wire.Message) bool {
	return m.Kind == wire.Invalid && m.Value().IsObject() && m.ID().Present() && !m.Get("method").Exists()
}

// noBatch leaves out what answers an array of ours: nothing says how that is
// answered in 2024-11-05 and 2026-07-28, and in between no array is due either
// way, so that the first array after ours decides only there.
func noBatch(j *check.J) {
	sent := false
	for _, e := range j.Entries() {
		array := e.Message.Kind == wire.Batch
		switch {
		case e.From != j.Of:
			sent = sent || array
		case array && sent && (j.Facts.Stateless || !j.Facts.UTF8):
		case array:
			j.Fail(e, "an array of %d messages was sent", len(e.Message.Elements()))
		case anyKind(e.Message):
			j.Saw()
		}
	}
}

// lenient tells whether the request of an answer may stand in a line before it
// that is no JSON or no UTF-8. What a reader makes of such a line, with bytes
// replaced as it is used to, is not judged.
func lenient(j *check.J, answer wire.Entry) bool {
	id := answer.Message.ID()
	for _, e := range j.Entries()[:answer.Index] {
		if e.From != j.Of && e.Message.Fault != nil && (strings.Contains(string(e.Raw), id.Raw) || strings.Contains(id.Key(), "\ufffd")) {
			return true
		}
	}
	return false
}

// results returns the results of the stateless era: those that are objects and
// do not answer initialize or another request that does not name this
// revision, which a server of both eras may be asked too.
func results(j *check.J) []wire.Entry {
	return check.Derived(j, "results", func() []wire.Entry {
		return transcript.Filter(j.Sent(), func(e wire.Entry) bool {
			if e.Message.Kind != wire.Result || !e.Message.Result().IsObject() {
				return false
			}
			request, ok := j.RequestOf(e)
			if !ok {
				return !j.Asked(e)
			}
			return wire.Member(request.Message.Params().Get("_meta"), spec.MetaProtocolVersion).String() == string(j.Rev)
		})
	})
}

// ofExtension tells whether a resultType may be one of an extension that the
// request declared. The tasks extension adds one (SEP-2663); what others add is
// not known.
func ofExtension(j *check.J, answer wire.Entry, resultType string) bool {
	request, ok := j.RequestOf(answer)
	if !ok {
		return false
	}
	declared := wire.Member(request.Message.Params().Get("_meta"), spec.MetaClientCapabilities).Get("extensions").Map()
	for name := range declared {
		if name != "io.modelcontextprotocol/tasks" || resultType == "task" {
			return true
		}
	}
	return false
}
