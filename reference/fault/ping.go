package fault

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// ping are the faults of basic/utilities/ping.
func ping() []Fault {
	return []Fault{
		{
			Name: "ping-result-pong", Does: "answers ping with a result that says pong",
			CaughtBy: []string{"ping.answered"},
			Apply:    instead("ping", func(*server.Request) (any, *server.Error) { return server.Object{"pong": true}, nil }),
		},
		{
			Name: "ping-refuses-params", Does: "answers a ping that has params with an error",
			CaughtBy: []string{"ping.answered"},
			Apply: instead("ping", func(r *server.Request) (any, *server.Error) {
				if len(r.Params) > 0 {
					return nil, &server.Error{Code: spec.InvalidParams, Message: "A ping has no parameters"}
				}
				return server.Object{}, nil
			}),
		},
	}
}
