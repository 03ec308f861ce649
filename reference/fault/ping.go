package fault

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// pingFaults are the faults of basic/utilities/ping.
func pingFaults() []Fault {
	return []Fault{
		exitsOn("ping", "ping.survived"), hangsOn("ping", "ping.survived"),
		{
			Name: "ping-unanswered", Does: "does not answer pings",
			CaughtBy: []string{"ping.answered"},
			Also:     map[string]string{"ping.opening.answered": "it does not answer one before initialize either"},
			Apply:    ignoreLines(isMessage(wire.Request, "ping")),
		},
		{
			Name: "ping-result-pong", Does: "answers ping with a result that is not empty",
			CaughtBy: []string{"ping.answered"},
			Apply:    answerInstead("ping", succeedWithOnly(server.Object{"pong": true})),
		},
		{
			Name: "ping-refuses-params", Does: "answers a ping that has params with an error",
			CaughtBy: []string{"ping.answered"},
			Also:     map[string]string{"jsonrpc.params.extra": "one of its requests is a ping with a param"},
			Apply: answerInstead("ping", func(r *server.Request) (any, *server.Error) {
				if len(r.Params) > 0 {
					return nil, &server.Error{Code: spec.InvalidParams, Message: "A ping has no parameters"}
				}
				return server.Object{}, nil
			}),
		},
		{
			Name: "early-ping-refused", Does: "refuses a ping before initialize",
			CaughtBy: []string{"ping.opening.answered"},
			Apply: answerWhen(func(r *server.Request) bool {
				return r.Method == "ping" && r.Session.Revision() == ""
			}, failWith(spec.InvalidRequest, "The session is not initialized")),
		},
	}
}

// pingClientFaults are the faults of the client in basic/utilities/ping.
func pingClientFaults() []ClientFault {
	return []ClientFault{
		{
			Name: "client-ping-unanswered", Does: "does not answer pings",
			CaughtBy: []string{"ping.client.answered"},
			Apply:    clientLeavesUnanswered("ping"),
		},
		{
			Name: "client-ping-result", Does: "answers a ping with a result that is not empty",
			CaughtBy: []string{"ping.client.answered"},
			Apply:    clientAnswers("ping", responseWith(`"result":{"pong":true}`)),
		},
		{
			Name: "client-ping-params", Does: "puts a parameter into its ping",
			CaughtBy: []string{"ping.client.params"},
			Apply:    clientRewrites("ping", `"method":"ping"`, `"method":"ping","params":{"count":1}`),
		},
	}
}
