package fault

import (
	"context"
	"maps"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// schemaRequestMeta are faults of the fields in which a stateless request describes
// itself.
func schemaRequestMeta() []Fault {
	return []Fault{
		{
			Name: "capabilities-by-client-name", Does: "declares prompts only to clients of one name",
			CaughtBy: []string{"schema.identity.ignored"},
			Apply: onResultWhen(isMethod("server/discover"), func(r *server.Request, result server.Object) {
				if info, ok := metaOf(r)[spec.MetaClientInfo].(server.Object); ok && info["name"] != "mcpcheck" {
					delete(result["capabilities"].(server.Object), "prompts")
				}
			}),
		},
		{
			Name:     "capabilities-remembered",
			Does:     "takes the client capabilities that a request lacks from the request before it",
			CaughtBy: []string{"schema.request-meta.capabilities"},
			Apply: onMetaAfter(func(now, before server.Object) {
				if now[spec.MetaClientCapabilities] == nil && before[spec.MetaClientCapabilities] != nil {
					now[spec.MetaClientCapabilities] = before[spec.MetaClientCapabilities]
				}
			}),
		},
		{
			Name:     "meta-version-assumed",
			Does:     "serves a request without a version in the only revision that it speaks",
			CaughtBy: []string{"schema.request-meta.version"},
			Apply:    combine(statelessOnly, assumeVersion),
		},
		{
			Name:     "meta-version-assumed-http",
			Does:     "serves a request without a version over HTTP in the only revision that it speaks",
			Over:     transport.HTTP,
			CaughtBy: []string{"schema.request-meta.version"},
			Apply:    combine(statelessOnly, assumeVersion),
		},
		{
			Name: "client-info-required", Does: "refuses requests without clientInfo",
			CaughtBy: []string{"schema.request-meta.optional"},
			Apply: answerWhen(func(r *server.Request) bool {
				return r.Stateless && metaOf(r)[spec.MetaClientInfo] == nil
			},
				failWith(spec.InvalidParams, "clientInfo is missing")),
		},
		{
			Name: "missing-capability-code", Does: "answers with error -32602 where the client lacks a capability",
			CaughtBy: []string{"schema.capabilities.required"},
			Apply:    recode("tools/call", hasCode(spec.MissingClientCapability), spec.InvalidParams),
		},
	}
}

// assumeVersion adds the version that a request for server/discover lacks.
var assumeVersion = onRequest("server/discover", func(r *server.Request) {
	if metaOf(r)[spec.MetaProtocolVersion] == nil {
		r.Params["_meta"] = server.Object{
			spec.MetaProtocolVersion:    string(spec.V2026_07_28),
			spec.MetaClientCapabilities: server.Object{},
		}
	}
})

// onMetaAfter changes the _meta of each request that has one; before holds the
// last value of each key on the connection.
func onMetaAfter(edit func(now, before server.Object)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		var mu sync.Mutex
		before := server.Object{}
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if now := metaOf(r); now != nil && r.Stateless {
				mu.Lock()
				edit(now, before)
				maps.Copy(before, now)
				mu.Unlock()
			}
			return next(ctx, r)
		}
	})
}
