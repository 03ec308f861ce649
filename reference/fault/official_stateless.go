package fault

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

func officialStateless() []Fault {
	return []Fault{
		{
			Name: "contract-capability-assumed", Does: "runs test_missing_capability for a client without sampling",
			CaughtBy: []string{"official.stateless.missing-capability"},
			Apply:    onLibraryTool("test_missing_capability", func(t *server.Tool) { t.Asks = nil }),
		},
		{
			Name: "contract-capability-unnamed", Does: "does not say which capability test_missing_capability needs",
			CaughtBy: []string{"official.stateless.missing-capability"},
			Apply: onError("tools/call", func(r *server.Request, e *server.Error) (any, *server.Error) {
				if r.Params["name"] == "test_missing_capability" && e.Code == spec.MissingClientCapability {
					e.Data = server.Object{"requiredCapabilities": server.Object{"roots": server.Object{}}}
				}
				return nil, e
			}),
		},
		{
			Name: "contract-asks-by-request", Does: "sends the client a request in test_streaming_elicitation",
			CaughtBy: []string{"official.stateless.streaming-elicitation"},
			Also:     map[string]string{"jsonrpc.request.none": "a request of the server"},
			Apply: beforeAnswer("tools/call", func(_ context.Context, r *server.Request) {
				if r.Params["name"] == "test_streaming_elicitation" {
					r.Send(raw(`{"jsonrpc":"2.0","id":"desk-0","method":"ping"}`))
				}
			}),
		},
		{
			Name: "contract-logs-unasked", Does: "logs in test_logging_tool though the request asks for no messages",
			CaughtBy: []string{"official.stateless.logging"},
			Also:     map[string]string{"logging.request.opted-in": "a message that no request asked for"},
			Apply: beforeAnswer("tools/call", func(_ context.Context, r *server.Request) {
				if r.Params["name"] == "test_logging_tool" {
					r.Notify("notifications/message", server.Object{"level": "info", "data": "The logging tool was called"})
				}
			}),
		},
		{
			Name: "contract-tool-change-untold", Does: "does not tell who listens of a change by test_trigger_tool_change",
			CaughtBy: []string{"official.subscriptions.changes"},
			Also:     map[string]string{"tools.list-changed.sent": "the list of tools changes and nobody is told"},
			Apply:    swallowed("notifications/tools/list_changed"),
		},
		{
			Name: "contract-prompt-change-untold", Does: "does not tell who listens of a change by test_trigger_prompt_change",
			CaughtBy: []string{"official.subscriptions.changes"},
			Also:     map[string]string{"prompts.list-changed.sent": "the list of prompts changes and nobody is told"},
			Apply:    swallowed("notifications/prompts/list_changed"),
		},
		{
			Name: "contract-filter-ignored", Does: "tells of a change of tools on every stream",
			CaughtBy: []string{"official.subscriptions.filtered"},
			Also:     map[string]string{"subscriptions.requested": "a notification on a stream that was not opened for it"},
			Apply:    onHandler(filterIgnored),
		},
	}
}

// swallowed sends no notification of a method.
func swallowed(method string) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		return func(f server.Frame) {
			if f.Method != method {
				next(f)
			}
		}
	})
}

// filterIgnored remembers who listens, and tells those who did not ask for
// changes of tools too.
func filterIgnored(next server.Handler) server.Handler {
	var mu sync.Mutex
	listening := map[*server.Request]bool{}
	note := func(r *server.Request, on bool) {
		mu.Lock()
		defer mu.Unlock()
		if delete(listening, r); on {
			listening[r] = true
		}
	}
	return func(ctx context.Context, r *server.Request) (any, *server.Error) {
		if filter, _ := r.Params["notifications"].(server.Object); r.Method == "subscriptions/listen" && filter["toolsListChanged"] != true {
			note(r, true)
			defer note(r, false)
		}
		v, problem := next(ctx, r)
		if r.Method == "tools/call" && r.Params["name"] == "test_trigger_tool_change" {
			mu.Lock()
			defer mu.Unlock()
			for l := range listening {
				l.Notify("notifications/tools/list_changed", server.Object{"_meta": server.Object{spec.MetaSubscriptionID: json.RawMessage(l.ID.Raw)}})
			}
		}
		return v, problem
	}
}
