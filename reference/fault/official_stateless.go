package fault

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// officialStateless are faults of what the contract has in the stateless revision.
func officialStateless() []Fault {
	return []Fault{
		{
			Name: "contract-capability-assumed", Does: "runs test_missing_capability for a client without sampling",
			CaughtBy: []string{"official.stateless.missing-capability"},
			Apply:    onLibraryTool("test_missing_capability", func(t *server.Tool) { t.InputRequests = nil }),
		},
		{
			Name: "contract-capability-unnamed", Does: "names another capability than test_missing_capability requires",
			CaughtBy: []string{"official.stateless.missing-capability"},
			Apply:    requireCapability("test_missing_capability", server.Object{"roots": server.Object{}}),
		},
		{
			Name: "contract-asks-by-request", Does: "sends a request in test_streaming_elicitation",
			CaughtBy: []string{"official.stateless.streaming-elicitation"},
			Also:     map[string]string{"jsonrpc.request.none": "it is a request of the server"},
			Apply: beforeAnswerWhen(isCall("test_streaming_elicitation"), func(r *server.Request) {
				r.Send(frameOf(`{"jsonrpc":"2.0","id":"server-0","method":"ping"}`))
			}),
		},
		{
			Name:     "contract-log-unrequested",
			Does:     "sends a log message in test_logging_tool that the request did not request",
			CaughtBy: []string{"official.stateless.logging"},
			Also:     map[string]string{"logging.request.opted-in": "no request requested the message"},
			Apply: beforeAnswerWhen(isCall("test_logging_tool"), func(r *server.Request) {
				r.Notify(logMethod, server.Object{"level": "info", "data": "The logging tool was called"})
			}),
		},
		{
			Name:     "contract-tool-change-not-notified",
			Does:     "sends no notification of the change by test_trigger_tool_change",
			CaughtBy: []string{"official.subscriptions.changes"},
			Also:     map[string]string{"tools.list-changed.sent": "the list of tools changes without a notification"},
			Apply:    withhold(isNotification("notifications/tools/list_changed")),
		},
		{
			Name:     "contract-prompt-change-not-notified",
			Does:     "sends no notification of the change by test_trigger_prompt_change",
			CaughtBy: []string{"official.subscriptions.changes"},
			Also: map[string]string{
				"subscriptions.prompts.list-changed.sent": "the list of prompts changes without a notification",
			},
			Apply: withhold(isNotification("notifications/prompts/list_changed")),
		},
		{
			Name: "contract-filter-ignored", Does: "sends notifications of a change of tools on every stream",
			CaughtBy: []string{"official.subscriptions.filtered"},
			Also:     map[string]string{"subscriptions.requested": "the stream was not opened for the notification"},
			Apply:    onHandler(notifyAllStreams),
		},
	}
}

// requireCapability names other capabilities where a tool requires one that the client
// lacks.
func requireCapability(tool string, capabilities server.Object) apply {
	return onError("tools/call", func(r *server.Request, e *server.Error) bool {
		return isCall(tool)(r) && e.Code == spec.MissingClientCapability
	}, func(e *server.Error) { e.Data = server.Object{"requiredCapabilities": capabilities} })
}

// notifyAllStreams sends notifications of changes of tools also on the streams that
// did not request them.
func notifyAllStreams(next server.Handler) server.Handler {
	var mu sync.Mutex
	others := map[*server.Request]bool{}
	note := func(r *server.Request, open bool) {
		mu.Lock()
		defer mu.Unlock()
		if delete(others, r); open {
			others[r] = true
		}
	}
	return func(ctx context.Context, r *server.Request) (any, *server.Error) {
		if r.Method == listenMethod && filterOf(r)["toolsListChanged"] != true {
			note(r, true)
			defer note(r, false)
		}
		v, problem := next(ctx, r)
		if isCall("test_trigger_tool_change")(r) {
			mu.Lock()
			defer mu.Unlock()
			for other := range others {
				meta := server.Object{spec.MetaSubscriptionID: json.RawMessage(other.ID.Raw)}
				other.Notify("notifications/tools/list_changed", server.Object{"_meta": meta})
			}
		}
		return v, problem
	}
}
