package fault

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// jsonrpcFaults are the faults of basic/index#messages.
func jsonrpcFaults() []Fault {
	return slices.Concat(jsonrpcRequests(), unservedRequests(), jsonrpcReceived(), jsonrpcParamsOmitted(),
		jsonrpcNotifications(), jsonrpcCase(), jsonrpcUnreadable(), jsonrpcResponses(), jsonrpcMethods(),
		jsonrpcFailures(), jsonrpcUnusual(), overHTTP(jsonrpcHTTP()...))
}

// unknownNotification is the notification that no server knows, as probes send it.
const unknownNotification = "notifications/mcpcheck/unknown"

// isUnknownMethod matches errors for the methods of probes that no server has.
func isUnknownMethod(r *server.Request, e *server.Error) bool {
	return e.Code == spec.MethodNotFound && strings.HasPrefix(r.Method, "mcpcheck/")
}

// jsonrpcRequests are faults in how valid requests are received.
func jsonrpcRequests() []Fault {
	return []Fault{
		{
			Name: "string-ids-refused", Does: "refuses requests whose id is a string",
			CaughtBy: []string{"jsonrpc.id.types"},
			Apply: answerWhen(func(r *server.Request) bool { return strings.HasPrefix(r.ID.Raw, `"`) },
				failWith(spec.InvalidRequest, "The id is not a number")),
		},
		{
			Name: "fifteenth-request-unanswered", Does: "does not answer the fifteenth of equal requests in a row",
			CaughtBy: []string{"jsonrpc.response.each"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				last, run := "", 0
				return func(line []byte) error {
					m := wire.Parse(line)
					if what := m.Method() + m.Params().Raw; what != last {
						last, run = what, 0
					}
					if run++; m.Kind == wire.Request && run == 15 {
						return nil
					}
					return next(line)
				}
			}),
		},
	}
}

// unservedRequests are faults in how requests are answered that cannot be served.
func unservedRequests() []Fault {
	inBatch := map[string]string{"batching.answer.each": "an unknown method in a batch is one too"}
	return []Fault{
		{
			Name: "unknown-method-accepted", Does: "answers unknown methods with an empty result",
			CaughtBy: []string{"jsonrpc.method.unknown"}, Also: inBatch,
			Apply: errorToResult("", isUnknownMethod, succeedWith(nil)),
		},
		{
			Name: "unknown-method-code", Does: "answers unknown methods with error -32600",
			CaughtBy: []string{"jsonrpc.method.unknown.code", "jsonrpc.method.unknown.code.advised"}, Also: inBatch,
			Apply: recode("", isUnknownMethod, spec.InvalidRequest),
		},
		{
			Name:     "unadvertised-method-empty",
			Does:     "answers lists of capabilities that it does not declare with an empty list",
			CaughtBy: []string{"jsonrpc.method.unadvertised"},
			Apply: combine(
				withoutCapability("prompts"),
				answerInstead("prompts/list", succeedWith(server.Object{
					"prompts": []any{}, "ttlMs": 0, "cacheScope": "private",
				})),
			),
		},
		{
			Name: "missing-params-served", Does: "answers prompts/get without a name with a prompt",
			CaughtBy: []string{"jsonrpc.params.invalid"},
			Apply: errorToResult("prompts/get", func(r *server.Request, _ *server.Error) bool {
				return r.Params["name"] == nil
			},
				succeedWith(server.Object{"messages": []any{}})),
		},
		{
			Name: "ill-typed-params-code", Does: "answers prompts/get with a number as name with error 0",
			CaughtBy: []string{"jsonrpc.params.code"},
			Apply:    recode("prompts/get", isIllTyped("name"), 0),
		},
		{
			Name: "ill-typed-params-unanswered", Does: "does not answer prompts/get with a number as name",
			CaughtBy: []string{"jsonrpc.params.survived"},
			Apply: withhold(isErrorWhen(func(r *server.Request) bool {
				return r.Method == "prompts/get" && isIllTyped("name")(r, nil)
			})),
		},
		{
			Name: "uri-missing-read", Does: "reads a resource where resources/read has no uri",
			CaughtBy: []string{"jsonrpc.params.invalid"},
			Apply: onRequestWhen(lacksParam("resources/read", "uri"), func(r *server.Request) {
				r.Params["uri"] = hoursURI
			}),
		},
	}
}

// isIllTyped matches errors for requests one of whose params is present and no string.
func isIllTyped(param string) errorMatcher {
	return func(r *server.Request, _ *server.Error) bool {
		_, text := r.Params[param].(string)
		return r.Params[param] != nil && !text
	}
}

// jsonrpcReceived are faults in how responses to requests that were not sent are
// received.
func jsonrpcReceived() []Fault {
	hasID := func(id string) messageMatcher {
		return func(m wire.Message) bool { return m.IsResponse() && m.ID().Raw == id }
	}
	answer := func(m wire.Message, out server.FrameSink) {
		out(frameOf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Unknown method"}}`, m.ID().Raw))
	}
	return []Fault{
		{
			Name: "answers-results", Does: "answers a result for no request with error -32601",
			CaughtBy: []string{"jsonrpc.response.silent"},
			Apply:    onLine(hasID(`""`), answer),
		},
		{
			Name: "answers-errors", Does: "answers an error for no request with error -32601",
			CaughtBy: []string{"jsonrpc.response.error.silent"},
			Apply:    onLine(hasID(`"mcpcheck-failed"`), answer),
		},
		{
			Name: "exits-on-response", Does: "exits on a response to no request",
			CaughtBy: []string{"jsonrpc.response.survived"},
			Apply:    exitOn(hasID("-7"), "nothing was requested"),
		},
		{
			Name: "exits-on-error-response", Does: "exits on an error that answers no request",
			CaughtBy: []string{"jsonrpc.response.survived"},
			Apply:    exitOn(hasID("-8"), "nothing was requested"),
		},
	}
}

// jsonrpcParamsOmitted are faults in how requests without params are received, whose
// method needs none.
func jsonrpcParamsOmitted() []Fault {
	omits := func(m wire.Message) bool {
		needsNone := m.Method() == "ping" || strings.HasSuffix(m.Method(), "/list") && m.Method() != "tasks/list"
		return m.Kind == wire.Request && needsNone && !m.Params().Exists()
	}
	const caughtBy = "jsonrpc.params.omitted"
	return []Fault{
		newFault("omitted-params-refused", "refuses requests without params", caughtBy,
			onLine(omits, func(m wire.Message, out server.FrameSink) {
				out(frameOf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"No params"}}`, m.ID().Raw))
			})),
		newFault("omitted-params-refused-in-lists", "refuses requests for lists without params", caughtBy,
			onLine(func(m wire.Message) bool { return omits(m) && m.Method() != "ping" },
				func(m wire.Message, out server.FrameSink) {
					out(frameOf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"No params"}}`, m.ID().Raw))
				})),
		newFault("omitted-params-unanswered", "does not answer requests without params", caughtBy, ignoreLines(omits)),
		newFault("exits-on-omitted-params", "exits on a request without params", caughtBy,
			exitOn(omits, "the request has no params")),
	}
}

// jsonrpcNotifications are faults in how notifications are received.
func jsonrpcNotifications() []Fault {
	return []Fault{
		{
			Name: "answers-notifications", Does: "answers cancellations with an error without id",
			Breaks:   []string{"jsonrpc-no-response-to-notification"},
			CaughtBy: []string{"jsonrpc.notification.silent"},
			Apply:    afterLine(isMessage(wire.Notification, "notifications/cancelled"), answerNotification),
		},
		{
			Name: "answers-unknown-notifications", Does: "answers unknown notifications with an error without id",
			Breaks:   []string{"jsonrpc-no-error-for-bad-notification"},
			CaughtBy: []string{"jsonrpc.notification.silent"},
			Apply:    afterLine(isMessage(wire.Notification, unknownNotification), answerNotification),
		},
		{
			Name: "exits-on-unknown-notification", Does: "exits on an unknown notification",
			CaughtBy: []string{"jsonrpc.notification.survived"},
			Apply:    exitOn(isMessage(wire.Notification, unknownNotification), "unknown notification"),
		},
	}
}

// jsonrpcCase are faults in the case of methods and members.
func jsonrpcCase() []Fault {
	return []Fault{
		{
			Name: "method-case-folded", Does: "accepts methods in upper case",
			CaughtBy: []string{"jsonrpc.case"},
			Apply: rewriteLines(func(m wire.Message) []byte {
				if m.Kind != wire.Request || m.Method() != strings.ToUpper(m.Method()) {
					return m.Raw
				}
				return replaceBytes(m, m.Method(), strings.ToLower(m.Method()))
			}),
		},
		{
			Name: "member-case-folded", Does: "reads the member Method as method",
			CaughtBy: []string{"jsonrpc.case"},
			Apply:    rewriteLines(func(m wire.Message) []byte { return replaceBytes(m, `"Method":`, `"method":`) }),
		},
	}
}

// answerNotification answers a notification with an error.
func answerNotification(_ wire.Message, out server.FrameSink) {
	out(errorWithoutID(spec.MethodNotFound, "Unknown notification"))
}

// isInvalidObject matches lines that begin like an object and are not JSON.
func isInvalidObject(m wire.Message) bool {
	return m.SyntaxError != nil && bytes.HasPrefix(m.Raw, []byte("{"))
}

// jsonrpcUnreadable are faults in how invalid messages are received.
func jsonrpcUnreadable() []Fault {
	hasFraction := func(m wire.Message) bool {
		return m.Kind == wire.Request && strings.HasSuffix(m.ID().Raw, ".5")
	}
	return []Fault{
		{
			Name: "parse-error-silent", Does: "does not answer lines that are not JSON",
			CaughtBy: []string{"jsonrpc.parse-error"},
			Apply:    ignoreLines(isInvalidObject),
		},
		{
			Name: "parse-error-code", Does: "answers lines that are not JSON with error -32600",
			CaughtBy: []string{"jsonrpc.parse-error"},
			Apply: onLine(isInvalidObject, func(_ wire.Message, out server.FrameSink) {
				out(errorWithoutID(spec.InvalidRequest, "Not JSON"))
			}),
		},
		{
			Name: "invalid-request-silent", Does: "does not answer requests without the member jsonrpc",
			CaughtBy: []string{"jsonrpc.request.invalid"},
			Apply: ignoreLines(func(m wire.Message) bool {
				return m.EnvelopeError != nil && m.EnvelopeError.Member == "jsonrpc"
			}),
		},
		{
			Name: "exits-on-fractional-id", Does: "exits on an id with a fraction",
			CaughtBy: []string{"jsonrpc.id.fraction.survived"},
			Apply:    exitOn(hasFraction, "the id has a fraction"),
		},
		{
			Name: "fractional-id-truncated", Does: "answers a request under its id without the fraction",
			CaughtBy: []string{"jsonrpc.id.fraction.echoed"},
			Apply: rewriteLines(func(m wire.Message) []byte {
				if !hasFraction(m) {
					return m.Raw
				}
				return replaceBytes(m, m.ID().Raw, strings.TrimSuffix(m.ID().Raw, ".5"))
			}),
		},
	}
}

// jsonrpcResponses are faults in what the server sends.
func jsonrpcResponses() []Fault {
	return []Fault{
		{
			Name: "response-id-as-number", Does: "answers string ids that look like numbers as numbers",
			Breaks:   []string{"jsonrpc-response-id-type-preserved"},
			CaughtBy: []string{"jsonrpc.response.id"},
			Apply: onFrame(func(_ server.Frame, m map[string]json.RawMessage) {
				if s, err := strconv.Unquote(string(m["id"])); err == nil {
					if _, err := strconv.Atoi(s); err == nil {
						m["id"] = json.RawMessage(s)
					}
				}
			}, wire.Result, wire.Error),
		},
		{
			Name: "response-id-imprecise", Does: "keeps ids in floating point",
			CaughtBy: []string{"jsonrpc.id.large"},
			Apply: onFrame(func(_ server.Frame, m map[string]json.RawMessage) {
				if n, err := strconv.ParseFloat(string(m["id"]), 64); err == nil {
					m["id"] = json.RawMessage(strconv.FormatInt(int64(n), 10))
				}
			}, wire.Result, wire.Error),
		},
		{
			Name: "large-id-dropped", Does: "does not answer requests with an id beyond 2^53",
			CaughtBy: []string{"jsonrpc.id.large"},
			Apply:    ignoreLines(func(m wire.Message) bool { return m.Kind == wire.Request && m.ID().IsLarge() }),
		},
		{
			Name: "answers-twice", Does: "sends each response twice",
			CaughtBy: []string{"jsonrpc.response.once"},
			Apply:    sendTwice(func(f server.Frame) bool { return isResponse(f) && wire.Parse(f.Raw).ID().IsValid() }),
		},
		{
			Name: "no-jsonrpc-member", Does: "leaves the member jsonrpc out of messages",
			CaughtBy: []string{"jsonrpc.version"},
			Apply: onFrame(func(_ server.Frame, m map[string]json.RawMessage) { delete(m, "jsonrpc") },
				wire.Result, wire.Error, wire.Notification, wire.Request),
		},
		{
			Name: "roots-by-request", Does: "requests roots by a request of its own",
			Breaks:   []string{"mrtr-server-input-via-result"},
			CaughtBy: []string{"jsonrpc.request.none"},
			Apply: beforeAnswerWhen(isCall("check_file"), func(r *server.Request) {
				f := frameOf(`{"jsonrpc":"2.0","id":"server-%x","method":"roots/list"}`, r.ID.Raw)
				f.Kind, f.Method = wire.Request, "roots/list"
				r.Send(f)
			}),
		},
		{
			Name: "input-required-empty", Does: "returns input_required without inputRequests and without requestState",
			Breaks:   []string{"mrtr-at-least-one"},
			CaughtBy: []string{"jsonrpc.result-type.complete"},
			Apply: onInputRequired(func(r *server.Request, result server.Object) {
				if r.Params["name"] == "register_reader" {
					remove("inputRequests", "requestState")(result)
				}
			}),
		},
	}
}
