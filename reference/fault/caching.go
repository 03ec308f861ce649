package fault

import (
	"context"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// cachingFaults are the faults of server/utilities/caching.
func cachingFaults() []Fault {
	return append(cachingHints(), protected(cachingOfUsers()...)...)
}

// onCacheHints changes the caching hints of complete results of the method.
func onCacheHints(method string, edit func(result server.Object)) apply {
	return onResult(method, func(result server.Object) {
		if result["resultType"] == "complete" {
			edit(result)
		}
	})
}

// cachingHints are faults of the members ttlMs and cacheScope.
func cachingHints() []Fault {
	missing := func(name, method, member string) Fault {
		return Fault{
			Name: name, Does: "leaves " + member + " out of the result of " + method,
			CaughtBy: []string{"caching.hints.present"},
			Apply:    onCacheHints(method, remove(member)),
		}
	}
	ttl := func(name, does, caughtBy string, value any) Fault {
		return Fault{
			Name: name, Does: does, CaughtBy: []string{caughtBy},
			Apply: onCacheHints("resources/read", set("ttlMs", value)),
		}
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

// cachingOfUsers are faults in what several users may share, on a server that
// requires an access token.
func cachingOfUsers() []Fault {
	const card = "library://readers/" + firstUser + "/card"
	contents := server.Object{"uri": card, "mimeType": "text/plain", "text": "This card belongs to " + firstUser + "."}
	return []Fault{
		{
			Name: "private-list-public", Does: "marks a list with a resource of one user as public",
			CaughtBy: []string{"authorization.caching.public.shared"},
			Apply:    onResult("resources/list", set("cacheScope", "public")),
		},
		{
			Name:     "private-resource-of-any-user",
			Does:     "returns a resource of one user to every user that knows its URI",
			CaughtBy: []string{"authorization.caching.private.guarded"},
			Apply: errorToResult("resources/read",
				func(r *server.Request, _ *server.Error) bool { return r.Params["uri"] == card },
				succeedWith(server.Object{"contents": []any{contents}, "ttlMs": 5000, "cacheScope": "private"})),
		},
	}
}
