package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// jsonrpc are the faults of basic/index#messages.
func jsonrpc() []Fault {
	return slices.Concat(jsonrpcRequests(), jsonrpcResponses())
}

// jsonrpcRequests are faults in how requests and notifications are received.
func jsonrpcRequests() []Fault {
	return []Fault{
		{
			Name: "string-ids-refused", Does: "refuses requests whose id is a string",
			CaughtBy: []string{"jsonrpc.id.types"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if strings.HasPrefix(r.ID.Raw, `"`) {
						return nil, &server.Error{Code: spec.InvalidRequest, Message: "The id is no number"}
					}
					return next(ctx, r)
				}
			}),
		},
		{
			Name: "burst-loses-one", Does: "never answers the fifteenth of requests that come in a row and ask for the same",
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
		{
			Name: "unknown-method-accepted", Does: "answers unknown methods with an empty result",
			CaughtBy: []string{"jsonrpc.method.unknown"},
			Also: map[string]string{
				"batching.answer.each": "an unknown method in a batch is one too",
			},
			Apply: onError("", func(r *server.Request, e *server.Error) (any, *server.Error) {
				if e.Code == spec.MethodNotFound && strings.HasPrefix(r.Method, "mcpcheck/") {
					return complete(nil), nil
				}
				return nil, e
			}),
		},
		{
			Name: "unknown-method-code", Does: "answers unknown methods with -32600",
			CaughtBy: []string{"jsonrpc.method.unknown"},
			Also: map[string]string{
				"batching.answer.each": "an unknown method in a batch is one too",
			},
			Apply: onError("", func(r *server.Request, e *server.Error) (any, *server.Error) {
				if e.Code == spec.MethodNotFound && strings.HasPrefix(r.Method, "mcpcheck/") {
					e.Code = spec.InvalidRequest
				}
				return nil, e
			}),
		},
		{
			Name: "unadvertised-method-empty", Does: "answers lists of capabilities that it does not declare with an empty list",
			CaughtBy: []string{"jsonrpc.method.unadvertised"},
			Apply: all(
				func(o *server.Options) { o.Library = without("prompts") },
				instead("prompts/list", func(*server.Request) (any, *server.Error) {
					return complete(server.Object{"prompts": []any{}, "ttlMs": 0, "cacheScope": "private"}), nil
				}),
			),
		},
		{
			Name: "missing-params-served", Does: "answers prompts/get without a name with a prompt",
			CaughtBy: []string{"jsonrpc.params.invalid"},
			Apply: onError("prompts/get", func(r *server.Request, e *server.Error) (any, *server.Error) {
				if r.Params["name"] == nil {
					return complete(server.Object{"messages": []any{}}), nil
				}
				return nil, e
			}),
		},
		{
			Name: "answers-notifications", Does: "answers cancellations with an error without id",
			Breaks:   []string{"jsonrpc-no-response-to-notification"},
			CaughtBy: []string{"jsonrpc.notification.silent"},
			Apply:    afterLine(wire.Notification, "notifications/cancelled", complain),
		},
		{
			Name: "answers-unknown-notifications", Does: "answers notifications that it does not know with an error without id",
			Breaks:   []string{"jsonrpc-no-error-for-bad-notification"},
			CaughtBy: []string{"jsonrpc.notification.silent"},
			Apply:    afterLine(wire.Notification, "notifications/mcpcheck/unknown", complain),
		},
		{
			Name: "dies-of-unknown-notification", Does: "ends when it reads a notification that it does not know",
			CaughtBy: []string{"jsonrpc.notification.survived"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if m := wire.Parse(line); m.Kind == wire.Notification && m.Method() == "notifications/mcpcheck/unknown" {
						return errors.New("unknown notification")
					}
					return next(line)
				}
			}),
		},
		{
			Name: "method-case-folded", Does: "knows methods in any case",
			CaughtBy: []string{"jsonrpc.case"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if m := wire.Parse(line); m.Kind == wire.Request && m.Method() == strings.ToUpper(m.Method()) {
						line = bytes.Replace(line, []byte(m.Method()), []byte(strings.ToLower(m.Method())), 1)
					}
					return next(line)
				}
			}),
		},
		{
			Name: "member-case-folded", Does: "takes Method for method",
			CaughtBy: []string{"jsonrpc.case"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error { return next(bytes.Replace(line, []byte(`"Method":`), []byte(`"method":`), 1)) }
			}),
		},
		{
			Name: "parse-error-silent", Does: "drops lines that are no JSON objects or arrays",
			CaughtBy: []string{"jsonrpc.parse-error"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if bytes.HasPrefix(line, []byte("{")) && wire.Parse(line).Fault != nil {
						return nil
					}
					return next(line)
				}
			}),
		},
		{
			Name: "parse-error-code", Does: "answers what is no JSON with -32600",
			CaughtBy: []string{"jsonrpc.parse-error"},
			Apply: onIncoming(func(next server.Receiver, out server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if bytes.HasPrefix(line, []byte("{")) && wire.Parse(line).Fault != nil {
						out(raw(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"What is this?"}}`))
						return nil
					}
					return next(line)
				}
			}),
		},
		{
			Name: "invalid-request-silent", Does: "drops requests that lack the member jsonrpc",
			CaughtBy: []string{"jsonrpc.request.invalid"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if m := wire.Parse(line); m.Misfit != nil && m.Misfit.Member == "jsonrpc" {
						return nil
					}
					return next(line)
				}
			}),
		},
		{
			Name: "dies-of-fractional-id", Does: "ends when it reads an id with a fraction",
			CaughtBy: []string{"jsonrpc.id.fraction.survived"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if m := wire.Parse(line); m.Kind == wire.Request && strings.HasSuffix(m.ID().Raw, ".5") {
						return errors.New("cannot read a fraction")
					}
					return next(line)
				}
			}),
		},
		{
			Name: "fractional-id-truncated", Does: "answers a request under its id without the fraction",
			Breaks:   []string{"jsonrpc-response-id-match"},
			CaughtBy: []string{"jsonrpc.response.id"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if m := wire.Parse(line); m.Kind == wire.Request {
						if whole, ok := strings.CutSuffix(m.ID().Raw, ".5"); ok {
							line = bytes.Replace(line, []byte(m.ID().Raw), []byte(whole), 1)
						}
					}
					return next(line)
				}
			}),
		},
		{
			Name: "dies-of-array", Does: "ends when it reads an array",
			CaughtBy: []string{"jsonrpc.batch.survived"},
			Apply: onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if wire.Parse(line).Kind == wire.Batch {
						return errors.New("cannot read an array")
					}
					return next(line)
				}
			}),
		},
	}
}

// complain answers without an id.
func complain(_ wire.Message, out server.FrameSink) {
	out(raw(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Unknown notification"}}`))
}

// jsonrpcResponses are faults in the shape of responses.
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
			Name: "response-id-imprecise", Does: "holds ids as doubles",
			Breaks:   []string{"jsonrpc-response-id-match"},
			CaughtBy: []string{"jsonrpc.response.id"},
			Apply: onFrame(func(_ server.Frame, m map[string]json.RawMessage) {
				if n, err := strconv.ParseFloat(string(m["id"]), 64); err == nil {
					m["id"] = json.RawMessage(strconv.FormatInt(int64(n), 10))
				}
			}, wire.Result, wire.Error),
		},
		{
			Name: "answers-twice", Does: "sends each response twice",
			CaughtBy: []string{"jsonrpc.response.once"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					next(f)
					if of(f, []wire.Kind{wire.Result, wire.Error}) && wire.Parse(f.Raw).ID().Usable() {
						next(f)
					}
				}
			}),
		},
		{
			Name: "no-jsonrpc-member", Does: "leaves out the member jsonrpc",
			CaughtBy: []string{"jsonrpc.version"},
			Apply: onFrame(func(_ server.Frame, m map[string]json.RawMessage) {
				delete(m, "jsonrpc")
			}, wire.Result, wire.Error, wire.Notification, wire.Request),
		},
	}
}
