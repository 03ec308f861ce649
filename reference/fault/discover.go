package fault

import (
	"context"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// discover are the faults of server/discover.
func discover() []Fault {
	return []Fault{
		{
			Name: "answers-elsewhere", Does: "writes nothing to its standard output",
			CaughtBy: []string{"discover.answered"},
			Apply:    onFrames(func(server.FrameSink) server.FrameSink { return func(server.Frame) {} }),
		},
		{
			Name: "discover-first", Does: "serves no other request before server/discover",
			CaughtBy: []string{"discover.optional"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				var discovered atomic.Bool
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					switch {
					case r.Method == "server/discover":
						discovered.Store(true)
					case r.Modern && !discovered.Load():
						return nil, &server.Error{Code: spec.InvalidRequest, Message: "Ask what there is first"}
					}
					return next(ctx, r)
				}
			}),
		},
		{
			Name: "discovered-but-unserved", Does: "declares completions, and does not know completion/complete",
			CaughtBy: []string{"discover.capabilities"},
			Apply:    instead("completion/complete", unknownMethod),
		},
		{
			Name: "discover-instructions-list", Does: "gives its instructions in server/discover as an array",
			CaughtBy: []string{"discover.result"},
			Apply:    onResult("server/discover", func(o server.Object) { o["instructions"] = []any{o["instructions"]} }),
		},
		{
			Name: "discover-versions-mixed", Does: "lists a version as a number",
			CaughtBy: []string{"discover.result"},
			Apply: onResult("server/discover", func(o server.Object) {
				o["supportedVersions"] = append(o["supportedVersions"].([]any), 20240101)
			}),
		},
	}
}
