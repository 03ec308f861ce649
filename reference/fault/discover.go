package fault

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// discoverFaults are the faults of server/discover.
func discoverFaults() []Fault {
	return []Fault{
		{
			Name: "discover-silent", Does: "does not answer server/discover",
			CaughtBy: []string{"discover.answered"},
			Apply:    withhold(isResultOf("server/discover")),
		},
		{
			Name: "discover-first", Does: "refuses other requests before server/discover",
			CaughtBy: []string{"discover.optional"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				var discovered atomic.Bool
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					switch {
					case r.Method == "server/discover":
						discovered.Store(true)
					case r.Stateless && !discovered.Load():
						return nil, &server.Error{Code: spec.InvalidRequest, Message: "server/discover comes first"}
					}
					return next(ctx, r)
				}
			}),
		},
		{
			Name: "discover-dropped", Does: "does not answer server/discover at a revision with a handshake",
			CaughtBy: []string{"discover.probe.answered"},
			Apply:    ignoreLines(isMessage(wire.Request, "server/discover")),
		},
		{
			Name: "discover-fatal", Does: "exits on server/discover at a revision with a handshake",
			CaughtBy: []string{"discover.probe.survived"},
			Apply:    exitOn(isMessage(wire.Request, "server/discover"), "the method is unknown"),
		},
		{
			Name:     "discovered-but-unserved",
			Does:     "declares completions and answers completion/complete with error -32601",
			CaughtBy: []string{"discover.capabilities"},
			Apply:    answerInstead("completion/complete", unknownMethod),
		},
		{
			Name:     "discover-instructions-list",
			Does:     "writes the instructions in the answer to server/discover as an array",
			CaughtBy: []string{"discover.result"},
			Apply: onResult("server/discover", func(o server.Object) {
				o["instructions"] = []any{o["instructions"]}
			}),
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

// discoverClientFaults are the faults of the client in server/discover and in the
// probe of a server's era.
func discoverClientFaults() []ClientFault {
	return []ClientFault{
		{
			Name: "client-discover-version", Does: "names the version in a parameter of server/discover",
			CaughtBy: []string{"discover.client.params"},
			Apply:    clientRewrites("server/discover", `"params":{`, `"params":{"protocolVersion":"2026-07-28",`),
		},
		{
			Name: "client-unlisted-version", Does: "continues with a version that was not listed",
			CaughtBy: []string{"discover.client.version.listed"},
			Apply:    clientRewrites("tools/list", `"`+string(spec.V2026_07_28)+`"`, `"2027-01-01"`),
		},
		{
			Name: "client-initialize-after-all", Does: "sends initialize though the probe had a result",
			CaughtBy: []string{"discover.client.result.no-initialize"},
			Apply: clientSends("tools/list", func(m client.Message) [][]byte {
				if !bytes.Contains(m.Raw, []byte(spec.MetaProtocolVersion)) {
					return [][]byte{m.Raw}
				}
				const initialize = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":` +
					`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
				return [][]byte{[]byte(initialize), m.Raw}
			}),
		},
		{
			Name: "client-fallback-always", Does: "falls back to initialize after any error",
			CaughtBy: []string{"discover.client.error.no-initialize"},
			Apply: func(o *client.Options) {
				o.ShowsStateless = func(func(wire.Message) bool) func(wire.Message) bool {
					return func(m wire.Message) bool { return m.Kind == wire.Result }
				}
			},
		},
		{
			Name:     "client-modern-answers",
			Does:     "answers requests of a server of the stateless revision, which may send none",
			CaughtBy: []string{"discover.client.response.none"},
			Apply: func(o *client.Options) {
				o.HandleRequest = func(next client.RequestHandler) client.RequestHandler {
					return func(m wire.Message) []byte {
						if own := next(m); own != nil {
							return own
						}
						return responseWith(`"result":{}`)(m, nil)
					}
				}
			},
		},
	}
}
