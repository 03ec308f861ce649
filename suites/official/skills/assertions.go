package skills

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// mustBeComplete asserts that an answer is a complete result.
func mustBeComplete(t *check.T, method string, e wire.Entry) {
	t.Mark(e)
	contract.MustBeString(t, "resultType in the result of "+method, e.Message.Result().Get("resultType"), "complete")
}

// mustReachEnd asserts that the pages of a list have an end. It reports whether there
// is more than one page.
func mustReachEnd(t *check.T, w *offer.Walk) bool {
	switch {
	case w.RepeatedCursor != "":
		t.Mark(w.Last)
		t.Fail("an end", "the cursor "+wire.Clip(w.RepeatedCursor, 60)+" again",
			"%s has no end: page %d has the cursor of a previous page", w.Method, len(w.Pages))
	case w.Failure != "" && len(w.Pages) < offer.MaxPages:
		t.Mark(w.Last)
		t.Fail("a page", w.Failure, "%s with the cursor of page %d was answered with %s", w.Method, len(w.Pages),
			w.Failure)
	}
	return len(w.Pages) > 1
}

// repeatedSkill returns a skill that is on two pages of a list.
func repeatedSkill(w *offer.Walk) (uri string, ok bool) {
	first := map[string]int{}
	for i, p := range w.Pages {
		for _, item := range p.Items {
			uri := skill{Result: item}.uri()
			if page, seen := first[uri]; uri != "" && seen && page != i {
				return uri, true
			}
			first[uri] = i
		}
	}
	return "", false
}

// mustBeCacheable asserts that a result has the members of cacheable results
// (server/utilities/caching#cacheable-results).
func mustBeCacheable(t *check.T, method string, e wire.Entry) {
	t.Mark(e)
	r := e.Message.Result()
	if ttl := r.Get("ttlMs"); !wire.IsInteger(ttl) || ttl.Num < 0 {
		t.Fail("ttlMs, a whole number from 0", contract.ShortJSON(ttl),
			"ttlMs in the result of %s is %s", method, contract.ShortJSON(ttl))
	}
	if scope := r.Get("cacheScope"); scope.Type != gjson.String || scope.Str != "public" && scope.Str != "private" {
		t.Fail(`cacheScope "public" or "private"`, contract.ShortJSON(scope),
			"cacheScope in the result of %s is %s", method, contract.ShortJSON(scope))
	}
}

// mustRefuse asserts that a method rejects a URI as an invalid parameter.
func mustRefuse(t *check.T, method, uri, what string) {
	m := t.Request(method, check.Params{"uri": uri})
	match.Expect(t, m).To(match.BeError(spec.InvalidParams), "%s of %s, which is %s", method, wire.Clip(uri, 120), what)
}
