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

// roots are the faults of client/roots.
func roots() []Fault {
	inside := saying("The file lies in a folder of yours.")
	return []Fault{
		{
			Name: "roots-params-list", Does: "asks for roots with a list of params", In: spec.Stateless,
			CaughtBy: []string{"roots.request.params"},
			Apply: onEntry(func(_ *server.Request, _ string, entry server.Object) {
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
			Name: "roots-of-anybody", Does: "asks for the roots of clients that declare none",
			Breaks:   []string{"roots-server-checks-capability"},
			CaughtBy: []string{"lifecycle.capabilities.undeclared.advised"},
			Apply:    supposing("roots"),
		},
		{
			Name: "roots-asked-thrice", Does: "asks for the roots again and again during one call",
			CaughtBy: []string{"roots.cached"},
			Apply: running("check_file", func(ctx context.Context, call *server.Call) (server.Outcome, bool) {
				for range 3 {
					_, _ = call.Ask(ctx, "roots/list", nil)
				}
				return server.Outcome{}, false
			}),
		},
		{
			Name: "stunned-by-root-changes", Does: "overhears the request behind the first change of roots",
			CaughtBy: []string{"roots.change.survived"},
			Apply:    stunned,
		},
		{
			Name: "roots-never-relisted", Does: "does not hear that roots changed",
			CaughtBy: []string{"roots.change.relisted"},
			Apply:    onLine(wire.Notification, "notifications/roots/list_changed", func(wire.Message, server.FrameSink) {}),
		},
		{
			Name: "waits-for-roots", Does: "waits for roots where the client has none",
			CaughtBy: []string{"roots.unavailable"},
			Apply: running("check_file", func(ctx context.Context, call *server.Call) (server.Outcome, bool) {
				if list, _ := call.Answers["roots"]["roots"].([]any); len(list) == 0 {
					call.Park()
					<-ctx.Done()
				}
				return server.Outcome{}, false
			}),
		},
		{
			Name: "reaches-beyond-roots", Does: "takes files wherever they are",
			CaughtBy: []string{"roots.boundaries"},
			Apply: running("check_file", func(_ context.Context, call *server.Call) (server.Outcome, bool) {
				uri, _ := call.Args["uri"].(string)
				return inside, !strings.Contains(uri, "..")
			}),
		},
		{
			Name: "climbs-out-of-roots", Does: "takes a path for one in a root by its beginning alone",
			CaughtBy: []string{"roots.paths"},
			Apply: running("check_file", func(_ context.Context, call *server.Call) (server.Outcome, bool) {
				uri, _ := call.Args["uri"].(string)
				return inside, strings.Contains(uri, "..")
			}),
		},
		{
			Name: "waits-for-refused-roots", Does: "waits on when the client refuses to list roots",
			CaughtBy: []string{"roots.answers.survived"},
			Apply:    unheard("roots/list", refused),
		},
	}
}

// stunned drops one request, that behind the first change of roots which
// anyone announces.
func stunned(o *server.Options) {
	var changed, done atomic.Bool
	onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		return func(line []byte) error {
			m := wire.Parse(line)
			if m.Method() == "notifications/roots/list_changed" {
				changed.Store(true)
			}
			if m.Kind == wire.Request && changed.Load() && done.CompareAndSwap(false, true) {
				return nil
			}
			return next(line)
		}
	})(o)
}
