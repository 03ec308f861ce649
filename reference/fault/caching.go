package fault

import (
	"context"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// caching are the faults of server/utilities/caching.
func caching() []Fault {
	hint := func(method string, edit func(o server.Object)) apply {
		return onResult(method, func(o server.Object) {
			if o["resultType"] == "complete" {
				edit(o)
			}
		})
	}
	without := func(name, method, member string) Fault {
		return Fault{
			Name: name, Does: "leaves " + member + " out of the result of " + method, In: spec.Stateless,
			Breaks:   []string{"caching-hints-present"},
			CaughtBy: []string{"caching.hints.present"},
			Apply:    hint(method, func(o server.Object) { delete(o, member) }),
		}
	}
	ttl := func(name, does, row, check string, value any) Fault {
		return Fault{
			Name: name, Does: does, In: spec.Stateless, Breaks: []string{row}, CaughtBy: []string{check},
			Apply: hint("resources/read", func(o server.Object) { o["ttlMs"] = value }),
		}
	}
	return []Fault{
		without("ttl-missing-discover", "server/discover", "ttlMs"),
		without("scope-missing-read", "resources/read", "cacheScope"),
		without("ttl-missing-templates", "resources/templates/list", "ttlMs"),
		ttl("ttl-string", "writes ttlMs as a string", "caching-ttl-type", "caching.ttl.integer", "5000"),
		ttl("ttl-fraction", "writes ttlMs as seconds with a fraction", "caching-ttl-type", "caching.ttl.integer", 4.5),
		ttl("ttl-null", "writes ttlMs as null", "caching-ttl-type", "caching.ttl.integer", nil),
		ttl("ttl-negative", "writes a negative ttlMs for what is not to be kept", "caching-ttl-non-negative", "caching.ttl.not-negative", -1),
		{
			Name: "scope-unknown", Does: "writes a cacheScope that does not exist",
			CaughtBy: []string{"caching.scope.known"},
			Apply:    hint("resources/read", func(o server.Object) { o["cacheScope"] = "shared" }),
		},
		{
			Name: "scope-of-pages-differs", Does: "marks the first page of prompts as public and the others as private",
			CaughtBy: []string{"caching.scope.pages"},
			Apply: onPage("prompts/list", func(ctx context.Context, r *server.Request, next server.Handler) (any, *server.Error) {
				v, problem := next(ctx, r)
				if o, ok := v.(server.Object); ok && problem == nil {
					o["cacheScope"] = "private"
				}
				return v, problem
			}),
		},
		{
			Name: "input-required-cacheable", Does: "puts caching hints on results that ask for input",
			CaughtBy: []string{"caching.input-required"},
			Apply: onResult("", func(o server.Object) {
				if o["resultType"] == "input_required" {
					o["ttlMs"], o["cacheScope"] = 0, "private"
				}
			}),
		},
	}
}
