package fault

import (
	"context"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// onCacheHints changes the caching hints of complete results of the method.
func onCacheHints(method string, edit func(result server.Object)) apply {
	return onResult(method, whenMember("resultType", "complete", edit))
}

// cachingFaults are the faults of server/utilities/caching.
func cachingFaults() []Fault {
	missing := func(name, method, member string) Fault {
		return Fault{
			Name: name, Does: "leaves " + member + " out of the result of " + method,
			CaughtBy: []string{"caching.hints.present"},
			Apply:    onCacheHints(method, remove(member)),
		}
	}
	ttl := func(name, does, caughtBy string, value any) Fault {
		return newFault(name, does, caughtBy, onCacheHints("resources/read", set("ttlMs", value)))
	}
	return []Fault{
		missing("ttl-missing-discover", "server/discover", "ttlMs"),
		missing("scope-missing-read", "resources/read", "cacheScope"),
		missing("ttl-missing-templates", "resources/templates/list", "ttlMs"),
		ttl("ttl-string", "writes ttlMs as a string", "caching.ttl.integer", "5000"),
		ttl("ttl-fraction", "writes ttlMs with a fraction", "caching.ttl.integer", 4.5),
		ttl("ttl-null", "writes ttlMs as null", "caching.ttl.integer", nil),
		ttl("ttl-negative", "writes a negative ttlMs", "caching.ttl.not-negative", -1),
		{
			Name: "scope-unknown", Does: "writes an unknown cacheScope",
			CaughtBy: []string{"caching.scope.known"},
			Apply:    onCacheHints("resources/read", set("cacheScope", "shared")),
		},
		{
			Name: "scope-of-pages-differs", Does: "marks the first page of prompts as public and the others as private",
			CaughtBy: []string{"caching.scope.pages"},
			Apply: onFurtherPage("prompts/list",
				func(ctx context.Context, r *server.Request, next server.Handler) (any, *server.Error) {
					v, problem := next(ctx, r)
					if o, ok := v.(server.Object); ok && problem == nil {
						o["cacheScope"] = "private"
					}
					return v, problem
				}),
		},
		{
			Name: "input-required-cacheable", Does: "writes caching hints into results of the type input_required",
			CaughtBy: []string{"caching.input-required"},
			Apply: onInputRequired(func(_ *server.Request, o server.Object) {
				o["ttlMs"], o["cacheScope"] = 0, "private"
			}),
		},
	}
}
