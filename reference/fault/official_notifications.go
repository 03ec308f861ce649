package fault

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onToolNotifications changes the notifications of a method that a call of a tool
// sends; edit reports whether one is sent at all.
func onToolNotifications(tool, method string, edit func(nth int, params server.Object) bool) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		seen := map[string]int{} // by id of the call
		return func(f server.Frame) {
			if f.Method != method || f.Request == nil || f.Request.Params["name"] != tool {
				next(f)
				return
			}
			key, sent := f.Request.ID.Key(), false
			seen[key]++
			f.Raw = editParams(f.Raw, func(params server.Object) { sent = edit(seen[key], params) })
			if sent {
				next(f)
			}
		}
	})
}

// onReports changes the progress of test_tool_with_progress in calls of the contract,
// which have tokens of their own.
func onReports(edit func(nth int, params server.Object) bool) apply {
	return onToolNotifications("test_tool_with_progress", progressMethod, func(nth int, params server.Object) bool {
		return !strings.HasPrefix(asText(params["progressToken"]), "progress-test") || edit(nth, params)
	})
}

// onLogs changes the log messages of test_tool_with_logging.
func onLogs(edit func(nth int, params server.Object) bool) apply {
	return onToolNotifications("test_tool_with_logging", logMethod, edit)
}

// officialLogs are faults in the log messages of the tools of the contract.
func officialLogs() []Fault {
	texts := []string{"Tool execution started", "Tool processing data", "Tool execution completed"}
	logging := []string{"official.tools.logging"}
	return []Fault{
		{
			Name: "contract-log-two-messages", Does: "leaves out the second log message of test_tool_with_logging",
			CaughtBy: logging,
			Apply:    onLogs(func(nth int, _ server.Object) bool { return nth != 2 }),
		},
		{
			Name: "contract-log-level", Does: "sends the log messages of test_tool_with_logging at level debug",
			CaughtBy: logging,
			Apply: onLogs(func(_ int, params server.Object) bool {
				params["level"] = "debug"
				return true
			}),
		},
		{
			Name: "contract-log-order", Does: "sends the log messages of test_tool_with_logging in reverse order",
			CaughtBy: logging,
			Apply: onLogs(func(nth int, params server.Object) bool {
				params["data"] = texts[(3-nth+3)%3]
				return true
			}),
		},
	}
}

// officialProgress are faults in the progress of the tools of the contract.
func officialProgress() []Fault {
	progress := []string{"official.tools.progress"}
	return []Fault{
		{
			Name: "contract-progress-two-reports", Does: "leaves out the second report of test_tool_with_progress",
			CaughtBy: progress,
			Apply:    onReports(func(nth int, _ server.Object) bool { return nth != 2 }),
		},
		{
			Name: "contract-progress-as-fraction",
			Does: "reports the progress of test_tool_with_progress as 0, 0.5 and 1 of 1", In: oneRevision,
			CaughtBy: progress,
			Apply: onReports(func(nth int, params server.Object) bool {
				params["progress"], params["total"] = float64(nth-1)/2, 1
				return true
			}),
		},
		{
			Name: "contract-progress-repeated", Does: "reports progress 50 twice in test_tool_with_progress",
			In:       oneRevision,
			CaughtBy: progress,
			Also:     map[string]string{"progress.increases": "50 and then 50 under one token"},
			Apply: onReports(func(nth int, params server.Object) bool {
				params["progress"] = min(nth-1, 1) * 50
				return true
			}),
		},
		{
			Name:     "contract-progress-token",
			Does:     "reports the progress of test_tool_with_progress under another token",
			CaughtBy: progress,
			Also:     map[string]string{"progress.token.known": "no request had the token"},
			Apply: onReports(func(_ int, params server.Object) bool {
				params["progressToken"] = "progress-test"
				return true
			}),
		},
	}
}

// officialRequests are faults in the answers to requests of the contract.
func officialRequests() []Fault {
	return []Fault{
		{
			Name:     "contract-completion-unserved",
			Does:     "returns no completions for the arguments of test_prompt_with_arguments",
			CaughtBy: []string{"official.completion"},
			Apply: onRequestWhen(
				isCompletion(func(ref, _ server.Object) bool { return ref["name"] == "test_prompt_with_arguments" }),
				func(r *server.Request) { r.Params["argument"] = server.Object{"name": "arg3", "value": ""} }),
		},
		{
			Name: "contract-unsubscribe-refused", Does: "refuses to unsubscribe from test://watched-resource",
			CaughtBy: []string{"official.resources.watched"},
			Apply: answerWhen(hasParam("resources/unsubscribe", "uri", "test://watched-resource"),
				failWith(spec.InternalError, "The subscription cannot be ended")),
		},
	}
}
