package fault

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// rootsFaults are the faults of client/roots.
func rootsFaults() []Fault { return append(rootsRequests(), rootsUsed()...) }

// rootsRequests are faults in how and when roots are requested.
func rootsRequests() []Fault {
	const changed = "notifications/roots/list_changed"
	return []Fault{
		{
			Name: "roots-params-list", Does: "requests roots with params that are an array", In: spec.Stateless,
			CaughtBy: []string{"roots.request.params"},
			Apply: onInputRequest(func(_ *server.Request, _ string, entry server.Object) {
				if entry["method"] == "roots/list" {
					entry["params"] = []any{}
				}
			}),
		},
		{
			Name: "roots-params-positional", Does: "sends roots/list with positional params", In: spec.Handshake,
			Breaks:   []string{"roots-request-no-required-params", "jsonrpc-params-object"},
			CaughtBy: []string{"roots.request.params"},
			Apply: onFrame(func(f server.Frame, members map[string]json.RawMessage) {
				if f.Method == "roots/list" {
					members["params"] = json.RawMessage("[]")
				}
			}, wire.Request),
		},
		{
			Name: "roots-requested-thrice", Does: "requests roots three times during one call",
			CaughtBy: []string{"roots.cached"},
			Apply: beforeRun("check_file", func(ctx context.Context, call *server.Call) (server.Outcome, bool) {
				for range 3 {
					_, _ = call.SendRequest(ctx, "roots/list", nil)
				}
				return server.Outcome{}, false
			}),
		},
		{
			Name: "request-lost-after-root-change", Does: "does not answer the first request after a change of roots",
			CaughtBy: []string{"roots.change.survived"},
			Apply:    loseRequestAfter(changed),
		},
		{
			Name: "roots-never-relisted", Does: "ignores notifications that roots changed",
			CaughtBy: []string{"roots.change.relisted"},
			Apply:    ignoreLines(isMessage(wire.Notification, changed)),
		},
	}
}

// rootsUsed are faults in what the server does with the roots.
func rootsUsed() []Fault {
	isOutside := func(call *server.Call) bool { return strings.Contains(asText(call.Args["uri"]), "..") }
	inside := textOutcome("The file lies in a folder of yours.") // as the server says of a file in a root
	return []Fault{
		{
			Name: "waits-for-roots", Does: "does not answer a call where the client has no roots",
			CaughtBy: []string{"roots.unavailable"},
			Apply: waitInCall("check_file", func(call *server.Call) bool {
				list, _ := call.Answers["roots"]["roots"].([]any)
				return len(list) == 0
			}),
		},
		{
			Name: "files-outside-roots-accepted", Does: "accepts files outside the roots",
			CaughtBy: []string{"roots.boundaries"},
			Apply: beforeRun("check_file", func(_ context.Context, call *server.Call) (server.Outcome, bool) {
				return inside, !isOutside(call)
			}),
		},
		{
			Name: "paths-out-of-roots-accepted", Does: "accepts paths that begin with a root and lead out of it",
			CaughtBy: []string{"roots.paths"},
			Apply: beforeRun("check_file", func(_ context.Context, call *server.Call) (server.Outcome, bool) {
				return inside, isOutside(call)
			}),
		},
		{
			Name: "waits-for-refused-roots", Does: "does not answer a call where the client refuses roots/list",
			CaughtBy: []string{"roots.answers.survived"},
			Apply:    ignoreRefusals("roots/list"),
		},
	}
}

// waitInCall does not answer calls of a tool that match.
func waitInCall(tool string, matches func(call *server.Call) bool) apply {
	return beforeRun(tool, func(ctx context.Context, call *server.Call) (server.Outcome, bool) {
		if matches(call) {
			call.Yield()
			<-ctx.Done()
		}
		return server.Outcome{}, false
	})
}

// loseRequestAfter does not read one request, the first of any connection after a
// notification of the method.
func loseRequestAfter(method string) apply {
	return func(o *server.Options) {
		var notified, lost atomic.Bool
		ignoreLines(func(m wire.Message) bool {
			if m.Method() == method {
				notified.Store(true)
			}
			return m.Kind == wire.Request && notified.Load() && lost.CompareAndSwap(false, true)
		})(o)
	}
}
