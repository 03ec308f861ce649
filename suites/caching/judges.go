package caching

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

const (
	noTTL   = "no result has ttlMs"
	noScope = "no result has cacheScope"
)

// judges returns the judges of server/utilities/caching, since 2026-07-28.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "caching.hints.present",
			Says:  "a complete result that can be cached has ttlMs and cacheScope",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"caching-hints-present"},
			Idle:  "the server sent no result that can be cached",
			Hint:  "offer tools, prompts or resources",
			Judge: func(j *check.J) {
				check.Each(j, cacheableResults(j), func(r transcript.Answered) bool {
					for _, hint := range hints {
						if !r.Result.Get(hint).Exists() {
							j.Fail(r.Answer, "the result of %s has no %s", r.Request.Method(), hint)
							break
						}
					}
					return true
				})
			},
		},
		{
			ID:    "caching.ttl.integer",
			Says:  "ttlMs is an integer",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"caching-ttl-type"},
			Idle:  noTTL,
			Hint:  "give ttlMs in the results that can be cached",
			Judge: func(j *check.J) {
				check.Each(j, resultsWith(j, "ttlMs"), func(r transcript.Answered) bool {
					if v := r.Result.Get("ttlMs"); !wire.IsInteger(v) {
						j.Fail(r.Answer, "ttlMs in the result of %s is %s, not an integer", r.Request.Method(),
							wire.Clip(v.Raw, 60))
					}
					return true
				})
			},
		},
		{
			ID:    "caching.ttl.not-negative",
			Says:  "ttlMs is not negative",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"caching-ttl-non-negative"},
			Idle:  noTTL,
			Hint:  "give ttlMs in the results that can be cached",
			Judge: func(j *check.J) {
				check.Each(j, resultsWith(j, "ttlMs"), func(r transcript.Answered) bool {
					v := r.Result.Get("ttlMs")
					if v.Type == gjson.Number && v.Num < 0 {
						j.Fail(r.Answer, "ttlMs in the result of %s is %s", r.Request.Method(), wire.Clip(v.Raw, 60))
					}
					return v.Type == gjson.Number
				})
			},
		},
		{
			ID:    "caching.scope.known",
			Says:  "cacheScope is public or private",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"caching-scope-enum"},
			Idle:  noScope,
			Hint:  "give cacheScope in the results that can be cached",
			Judge: func(j *check.J) {
				check.Each(j, resultsWith(j, "cacheScope"), func(r transcript.Answered) bool {
					v := r.Result.Get("cacheScope")
					if v.Type != gjson.String || v.Str != "public" && v.Str != "private" {
						j.Fail(r.Answer, "cacheScope in the result of %s is %s", r.Request.Method(),
							wire.Clip(v.Raw, 60))
					}
					return true
				})
			},
		},
		{
			ID:    "caching.scope.pages",
			Says:  "all pages of a list have the same cacheScope",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"caching-scope-same-all-pages"},
			Idle:  "no list has a second page with a cacheScope",
			Hint:  "return a list in pages, with a nextCursor and a cacheScope",
			// The pages of a list are connected by their cursors. If the list was read twice,
			// the same cursor may have been returned under two scopes: a page then agrees
			// with either.
			Judge: func(j *check.J) {
				scopes := map[string][]string{} // of the pages that returned a cursor
				for _, r := range resultsWith(j, "cacheScope") {
					scope, method := r.Result.Get("cacheScope"), r.Request.Method()
					if scope.Type != gjson.String {
						continue
					}
					if cursor := r.Request.Params().Get("cursor"); cursor.Type == gjson.String {
						switch before := scopes[method+" "+cursor.Str]; {
						case slices.Contains(before, scope.Str):
							j.Saw()
						case len(before) > 0:
							j.Fail(r.Answer, "a page of %s is %s, and the page before it was %s",
								method, wire.Clip(scope.Raw, 60), wire.Clip(before[0], 60))
						}
					}
					if next := r.Result.Get("nextCursor"); next.Type == gjson.String {
						key := method + " " + next.Str
						scopes[key] = append(scopes[key], scope.Str)
					}
				}
			},
		},
		{
			ID:    "caching.input-required",
			Says:  "an input_required result has no caching hints",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"caching-not-on-input-required"},
			Idle:  "the server sent no input_required result",
			Hint:  "offer a read-only tool that returns an input_required result" + check.OrAllow,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					result := e.Message.Result()
					if e.Message.Kind != wire.Result || result.Get("resultType").String() != "input_required" {
						return false
					}
					for _, hint := range hints {
						if result.Get(hint).Exists() {
							j.Fail(e, "an input_required result has %s", hint)
						}
					}
					return true
				})
			},
		},
	}
}

// hints are the members by which a result says how it can be cached.
var hints = []string{"ttlMs", "cacheScope"}

// cacheableResults returns the complete results of the operations that can be cached
// (server/utilities/caching#cacheable-results).
func cacheableResults(j *check.J) []transcript.Answered {
	return slices.Concat(
		transcript.Results(j, "server/discover"),
		transcript.Results(j, "tools/list"),
		transcript.Results(j, "prompts/list"),
		transcript.Results(j, "resources/list"),
		transcript.Results(j, "resources/templates/list"),
		transcript.Results(j, "resources/read"),
	)
}

// resultsWith returns the cacheable results that have a hint.
func resultsWith(j *check.J, hint string) []transcript.Answered {
	return transcript.Filter(cacheableResults(j), func(r transcript.Answered) bool {
		return r.Result.Get(hint).Exists()
	})
}
