package caching

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of server/utilities/caching, since 2026-07-28.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "caching.hints.present",
			Says:  "a complete result that may be cached has ttlMs and cacheScope",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"caching-hints-present"},
			Judge: func(j *check.J) {
				eachCacheable(j, func(e wire.Entry, request wire.Message, result gjson.Result) {
					for _, hint := range []string{"ttlMs", "cacheScope"} {
						if !result.Get(hint).Exists() {
							j.Fail(e, "the result of %s has no %s", request.Method(), hint)
							return
						}
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "caching.ttl.integer",
			Says:  "ttlMs is an integer",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"caching-ttl-type"},
			Judge: func(j *check.J) {
				eachHint(j, "ttlMs", func(e wire.Entry, method string, v gjson.Result) {
					if !whole(v) {
						j.Fail(e, "ttlMs in the result of %s is %s, not an integer", method, wire.Clip(v.Raw, 60))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "caching.ttl.not-negative",
			Says:  "ttlMs is not negative",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"caching-ttl-non-negative"},
			Judge: func(j *check.J) {
				eachHint(j, "ttlMs", func(e wire.Entry, method string, v gjson.Result) {
					switch {
					case v.Type != gjson.Number:
					case v.Num < 0:
						j.Fail(e, "ttlMs in the result of %s is %s", method, wire.Clip(v.Raw, 60))
					default:
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "caching.scope.known",
			Says:  "cacheScope is public or private",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"caching-scope-enum"},
			Judge: func(j *check.J) {
				eachHint(j, "cacheScope", func(e wire.Entry, method string, v gjson.Result) {
					if v.Type != gjson.String || v.Str != "public" && v.Str != "private" {
						j.Fail(e, "cacheScope in the result of %s is %s", method, wire.Clip(v.Raw, 60))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "caching.scope.pages",
			Says:  "all pages of a list have the same cacheScope",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"caching-scope-same-all-pages"},
			// scopeOfPages follows the cursors. A list that was walked twice may have given
			// the same cursor under two scopes: a page then agrees with either.
			Judge: func(j *check.J) {
				given := map[string][]string{} // the scopes of the pages that gave a cursor
				eachCacheable(j, func(e wire.Entry, request wire.Message, result gjson.Result) {
					scope := result.Get("cacheScope")
					if scope.Type != gjson.String {
						return
					}
					if cursor := request.Params().Get("cursor"); cursor.Type == gjson.String {
						switch before := given[request.Method()+" "+cursor.Str]; {
						case slices.Contains(before, scope.Str):
							j.Saw()
						case len(before) > 0:
							j.Fail(e, "a page of %s is %s, and the page before it was %s", request.Method(), wire.Clip(scope.Raw, 60), wire.Clip(before[0], 60))
						}
					}
					if next := result.Get("nextCursor"); next.Type == gjson.String {
						key := request.Method() + " " + next.Str
						given[key] = append(given[key], scope.Str)
					}
				})
			},
		},
		{
			ID:    "caching.input-required",
			Says:  "a result that asks for input has no caching hints",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"caching-not-on-input-required"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					result := e.Message.Result()
					if e.Message.Kind != wire.Result || result.Get("resultType").String() != "input_required" {
						continue
					}
					broken := false
					for _, hint := range []string{"ttlMs", "cacheScope"} {
						if result.Get(hint).Exists() {
							j.Fail(e, "a result that asks for input has %s", hint)
							broken = true
						}
					}
					if !broken {
						j.Saw()
					}
				}
			},
		},
	}
}

// eachCacheable gives the complete results of the operations that may be cached
// (server/utilities/caching#cacheable-results).
func eachCacheable(j *check.J, look func(e wire.Entry, request wire.Message, result gjson.Result)) {
	for _, method := range []string{"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"} {
		transcript.EachResult(j, method, look)
	}
}

// eachHint gives the values of a hint that is there.
func eachHint(j *check.J, hint string, look func(e wire.Entry, method string, v gjson.Result)) {
	eachCacheable(j, func(e wire.Entry, request wire.Message, result gjson.Result) {
		if v := result.Get(hint); v.Exists() {
			look(e, request.Method(), v)
		}
	})
}

// whole tells whether a value is a number without fractional part, however it
// is spelled.
func whole(v gjson.Result) bool {
	return v.Type == gjson.Number && strings.HasPrefix(wire.ID{Raw: v.Raw}.Key(), "n:")
}
