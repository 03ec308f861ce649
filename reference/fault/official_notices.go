package fault

import (
	"encoding/json"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onNotices changes the notifications of a method that a call of a tool sends;
// edit tells whether one is sent at all.
func onNotices(tool, method string, edit func(nth int, params server.Object) bool) apply {
	return onFrames(func(next server.FrameSink) server.FrameSink {
		seen := map[string]int{} // by id of the call
		return func(f server.Frame) {
			if f.Method != method || f.Request == nil || f.Request.Params["name"] != tool {
				next(f)
				return
			}
			var m struct {
				Params server.Object `json:"params"`
			}
			if err := json.Unmarshal(f.Raw, &m); err != nil {
				panic(err) // the server sends JSON
			}
			key := f.Request.ID.Key()
			seen[key]++
			if edit(seen[key], m.Params) {
				f.Raw = encode(server.Object{"jsonrpc": "2.0", "method": method, "params": m.Params})
				next(f)
			}
		}
	})
}

// onSteps changes the reports of test_tool_with_progress; those of other calls
// than the one of the contract stay as they are.
func onSteps(edit func(nth int, params server.Object) bool) apply {
	return onNotices("test_tool_with_progress", "notifications/progress", func(nth int, params server.Object) bool {
		if token, _ := params["progressToken"].(string); !strings.HasPrefix(token, "progress-test") {
			return true
		}
		return edit(nth, params)
	})
}

func onMessages(edit func(nth int, params server.Object) bool) apply {
	return onNotices("test_tool_with_logging", "notifications/message", edit)
}

func officialNotices() []Fault {
	texts := []string{"Tool execution started", "Tool processing data", "Tool execution completed"}
	return []Fault{
		{
			Name: "contract-log-two-messages", Does: "leaves out the second message of test_tool_with_logging",
			CaughtBy: []string{"official.tools.logging"},
			Apply:    onMessages(func(nth int, _ server.Object) bool { return nth != 2 }),
		},
		{
			Name: "contract-log-level", Does: "logs the messages of test_tool_with_logging at level debug",
			CaughtBy: []string{"official.tools.logging"},
			Apply: onMessages(func(_ int, params server.Object) bool {
				params["level"] = "debug"
				return true
			}),
		},
		{
			Name: "contract-log-order", Does: "logs the messages of test_tool_with_logging backwards",
			CaughtBy: []string{"official.tools.logging"},
			Apply: onMessages(func(nth int, params server.Object) bool {
				params["data"] = texts[(3-nth+3)%3]
				return true
			}),
		},
		{
			Name: "contract-progress-two-reports", Does: "leaves out the second report of test_tool_with_progress",
			CaughtBy: []string{"official.tools.progress"},
			Apply:    onSteps(func(nth int, _ server.Object) bool { return nth != 2 }),
		},
		{
			Name: "contract-progress-as-fraction", Does: "reports the progress of test_tool_with_progress as 0, 0.5 and 1 of 1", In: further,
			CaughtBy: []string{"official.tools.progress"},
			Apply: onSteps(func(nth int, params server.Object) bool {
				params["progress"], params["total"] = float64(nth-1)/2, 1
				return true
			}),
		},
		{
			Name: "contract-progress-standing", Does: "reports 50 twice in test_tool_with_progress", In: further,
			CaughtBy: []string{"official.tools.progress"},
			Also:     map[string]string{"progress.increases": "50 and then 50 under one token"},
			Apply: onSteps(func(nth int, params server.Object) bool {
				params["progress"] = min(nth-1, 1) * 50
				return true
			}),
		},
		{
			Name: "contract-progress-token", Does: "reports the progress of test_tool_with_progress under another token",
			CaughtBy: []string{"official.tools.progress"},
			Also:     map[string]string{"progress.token.known": "a token that no request gave"},
			Apply: onSteps(func(_ int, params server.Object) bool {
				params["progressToken"] = "progress-test"
				return true
			}),
		},
		{
			Name: "contract-completion-unserved", Does: "completes no argument of test_prompt_with_arguments",
			CaughtBy: []string{"official.completion"},
			Apply: onRequest("completion/complete", func(r *server.Request) {
				if ref, _ := r.Params["ref"].(server.Object); ref["name"] == "test_prompt_with_arguments" {
					r.Params["argument"] = server.Object{"name": "arg3", "value": ""}
				}
			}),
		},
		{
			Name: "contract-watched-for-good", Does: "refuses to unsubscribe from test://watched-resource",
			CaughtBy: []string{"official.resources.watched"},
			Apply: onHandler(refusingSome("resources/unsubscribe", func(r *server.Request) bool {
				return r.Params["uri"] == "test://watched-resource"
			}, &server.Error{Code: spec.InternalError, Message: "Nobody leaves"})),
		},
	}
}
