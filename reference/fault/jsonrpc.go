package fault

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// jsonrpc are the faults of basic/index#messages.
func jsonrpc() []Fault {
	return []Fault{
		{
			Name: "response-id-as-string", Does: "answers integer ids as strings", In: spec.Every,
			Breaks:   []string{"jsonrpc-response-id-type-preserved"},
			CaughtBy: []string{"jsonrpc.response.id-type"},
			Apply: onFrame(func(_ server.Frame, m map[string]json.RawMessage) {
				if id := m["id"]; len(id) > 0 && id[0] != '"' {
					m["id"] = json.RawMessage(strconv.Quote(string(id)))
				}
			}, wire.Result, wire.Error),
		},
		{
			Name: "answers-twice", Does: "sends each response twice", In: spec.Every,
			Breaks:   []string{"jsonrpc-every-request-answered"},
			CaughtBy: []string{"jsonrpc.response.once"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					next(f)
					if of(f, []wire.Kind{wire.Result, wire.Error}) {
						next(f)
					}
				}
			}),
		},
		{
			Name: "answers-notifications", Does: "answers each notification with an empty result without id", In: spec.Every,
			Breaks:   []string{"jsonrpc-no-response-to-notification"},
			CaughtBy: []string{"jsonrpc.notification.unanswered"},
			Apply: afterLine(wire.Notification, "", func(_ wire.Message, out server.FrameSink) {
				out(raw(`{"jsonrpc":"2.0","id":null,"result":{}}`))
			}),
		},
		{
			Name: "no-jsonrpc-member", Does: "leaves out the member jsonrpc", In: spec.Every,
			Breaks:   []string{"jsonrpc-version-literal"},
			CaughtBy: []string{"jsonrpc.version"},
			Apply: onFrame(func(_ server.Frame, m map[string]json.RawMessage) {
				delete(m, "jsonrpc")
			}, wire.Result, wire.Error, wire.Notification, wire.Request),
		},
		{
			Name: "result-with-error", Does: "puts error null next to each result", In: spec.Every,
			Breaks:   []string{"jsonrpc-response-not-both"},
			CaughtBy: []string{"jsonrpc.response.not-both"},
			Apply: onFrame(func(_ server.Frame, m map[string]json.RawMessage) {
				m["error"] = json.RawMessage("null")
			}, wire.Result),
		},
		{
			Name: "error-code-string", Does: "writes error codes as strings", In: spec.Every,
			Breaks:   []string{"jsonrpc-error-code-integer"},
			CaughtBy: []string{"jsonrpc.error.code"},
			Apply: onFrame(func(_ server.Frame, m map[string]json.RawMessage) {
				var e map[string]json.RawMessage
				if json.Unmarshal(m["error"], &e) == nil {
					e["code"] = json.RawMessage(strconv.Quote(string(e["code"])))
					m["error"] = encode(e)
				}
			}, wire.Error),
		},
		{
			Name: "unknown-method-accepted", Does: "answers unknown methods with an empty result", In: spec.Every,
			Breaks:   []string{"jsonrpc-method-not-found"},
			CaughtBy: []string{"jsonrpc.method-not-found"},
			Apply: onError("", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				if e.Code == spec.MethodNotFound {
					return server.Object{}, nil
				}
				return nil, e
			}),
		},
	}
}

// stdio are the faults of basic/transports#stdio.
func stdio() []Fault {
	return []Fault{
		{
			Name: "banner", Does: "greets on standard output before the first message", In: spec.Every,
			Breaks:   []string{"stdio-stdout-only-mcp"},
			CaughtBy: []string{"stdio.stdout-only-messages"},
			Apply:    banner("Harbour Street Library is open\n"),
		},
		{
			Name: "pretty-printed", Does: "writes messages over several lines", In: spec.Every,
			Breaks:   []string{"stdio-no-embedded-newlines"},
			CaughtBy: []string{"stdio.one-line"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					var b bytes.Buffer
					if json.Indent(&b, f.Raw, "", "  ") == nil {
						f.Raw = b.Bytes()
					}
					next(f)
				}
			}),
		},
	}
}
