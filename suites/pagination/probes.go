package pagination

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// probes are the probes of server/utilities/pagination, over all lists
// that the server declares.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.response.lists",
			Says:  "each list that the server declares is answered when it is asked for",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-every-request-answered"},
			// listsAnswered takes a result as well as an error for an answer: what is due
			// beyond that has checks of its own.
			Probe: func(t *check.T) {
				lists := offer.Lists(t)
				for _, l := range lists {
					if w := offer.Walked(t, l); w.Last.Raw == nil {
						t.Fail("an answer", "none", "%s: %s", l.Method, w.Broke)
					}
				}
				if len(lists) == 0 {
					t.NotObserved("the server declares nothing that has a list", "")
				}
			},
		},
		{
			ID:    "pagination.followed",
			Says:  "a list request with the cursor of the page before is answered with a page",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-operations"},
			// cursorsFollowed judges what a cursor of the server's own leads to.
			Probe: func(t *check.T) {
				seen := false
				for _, l := range offer.Lists(t) {
					w := offer.Walked(t, l)
					if len(w.Pages) == 0 || !w.Pages[0].Answer.Message.Result().Get("nextCursor").Exists() {
						continue
					}
					if w.Broke != "" && len(w.Pages) < offer.MaxPages {
						t.Mark(w.Last)
						t.Fail("a page", w.Broke, "%s with the cursor of page %d was answered with %s", l.Method, len(w.Pages), w.Broke)
					}
					seen = seen || len(w.Pages) > 1
				}
				if !seen {
					t.NotObserved("no list has a second page", "offer a list that spans pages")
				}
			},
		},
		{
			ID:    "pagination.resumed",
			Says:  "a page holds what follows the page before, and nothing of it again",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-resumes-after-cursor"},
			// pagesResume takes entries for the same if all of their members are: two
			// entries that only share a name are not the business of pagination. A cursor
			// that comes again leads nowhere, if its page is empty too.
			Probe: func(t *check.T) {
				for _, w := range paged(t, 2) {
					seen := map[string]int{}
					for i, p := range w.Pages {
						for _, item := range p.Items {
							before, again := seen[item.Raw]
							if again && before < i {
								t.Mark(p.Answer)
								t.Fail("entries that follow page "+wire.Clip(p.Cursor, 60), "an entry of page again", "%s: page %d holds %q again, which was on page %d", w.Method, i+1, wire.Clip(item.Get(w.Key).String(), 80), before+1)
							}
							seen[item.Raw] = i
						}
					}
					if last := w.Pages[len(w.Pages)-1]; w.Loops != "" && len(last.Items) == 0 {
						t.Mark(last.Answer)
						t.Fail("an end", "cursor "+wire.Clip(w.Loops, 60), "%s has no end: an empty page gives a cursor that came before", w.Method)
					}
				}
			},
		},
		{
			ID:    "pagination.start",
			Says:  "a list request without cursor starts from the beginning",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-request-without-cursor"},
			// startsFromBeginning asks again, with params where the first request had
			// none. Lists may change, so that only an answer without any entry of the
			// first page shows that the server went on from elsewhere.
			Probe: func(t *check.T) {
				for _, w := range paged(t, 1) {
					first := w.Names(w.Pages[0].Items)
					m := t.Request(w.Method, check.Params{})
					list := m.Result().Get(w.Member)
					if m.Kind != wire.Result || !list.IsArray() {
						t.Fail("the first page", m.Summary(), "%s was answered with a page, and asked again with empty params with %s", w.Method, m.Summary())
					}
					again := w.Names(list.Array())
					if len(first) > 0 && !slices.ContainsFunc(first, func(name string) bool { return slices.Contains(again, name) }) {
						t.Fail("the first page again", m.Summary(), "%s without cursor gave another page the second time", w.Method)
					}
					if offer.SameNames(first, again) && !slices.Equal(first, again) {
						t.Note("%s gives the same entries in another order each time", w.Method)
					}
				}
			},
		},
		{
			ID:    "pagination.cursor.stable",
			Says:  "a cursor that is used twice gives the same page twice",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-server-stable-cursors"},
			Probe: func(t *check.T) {
				for _, w := range paged(t, 2) {
					p := w.Pages[1]
					e, err := t.Try(w.Method, check.Params{"cursor": p.Cursor}).Get()
					if err != nil {
						t.NotObserved(err.Error(), "")
					}
					t.Mark(e)
					m := e.Message
					if m.Kind != wire.Result {
						t.Fail("the same page", m.Summary(), "%s: the cursor of the second page was good once, then it was answered with %s", w.Method, m.Summary())
					}
					if again := m.Result().Get(w.Member).Array(); !offer.SameNames(w.Names(p.Items), w.Names(again)) && !changed(t, p.Answer.Index) {
						t.Fail("the same page", m.Summary(), "%s: the cursor of the second page gives other entries the second time", w.Method)
					}
				}
			},
		},
		{
			ID:    "pagination.cursor.invalid.survived",
			Says:  "a list request with an invalid cursor is answered, and the server goes on",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-server-invalid-cursor-graceful"},
			Probe: func(t *check.T) {
				for _, c := range invalidCursors(t) {
					if c.err != nil {
						t.Fail("an answer", "none", "%s with %s: %v", c.Method, c.what, c.err)
					}
				}
				if t.Over() == nil {
					t.Survives("list requests with an invalid cursor")
				}
			},
		},
		{
			ID:    "pagination.cursor.invalid",
			Says:  "a list request with an invalid cursor is answered with error -32602",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-invalid-cursor-code"},
			// invalidCursorRefused: a server that does not page gave out no cursor, so
			// that every cursor is an invalid one.
			Probe: func(t *check.T) {
				answered := false
				for _, c := range invalidCursors(t) {
					if !c.surely && c.answer.Message.Kind == wire.Result {
						t.Note("%s takes %s", c.Method, c.what)
					}
					if c.err != nil || !c.surely {
						continue
					}
					answered = true
					t.Mark(c.answer)
					m := c.answer.Message
					code, _ := m.Code()
					switch {
					case m.Kind == wire.Result:
						t.Fail("error -32602", m.Summary(), "%s with a cursor that the server never gave out was answered as if there were none", c.Method)
					case code != spec.InvalidParams:
						t.Fail("error -32602", m.Summary(), "%s with an invalid cursor was answered with %s", c.Method, m.Summary())
					}
				}
				if !answered {
					t.NotObserved("a list request with an invalid cursor was not answered", "")
				}
			},
		},
	}
}

// paged returns the walks over lists of at least so many pages, and ends the
// body if there are none.
func paged(t *check.T, pages int) []*offer.Walk {
	var out []*offer.Walk
	for _, l := range offer.Lists(t) {
		if w := offer.Walked(t, l); len(w.Pages) >= pages {
			out = append(out, w)
		}
	}
	if len(out) == 0 && pages > 1 {
		t.NotObserved("no list has a second page", "offer a list that spans pages")
	}
	if len(out) == 0 {
		t.NotObserved("no list could be read", "")
	}
	return out
}

// changed tells whether the server said that a list has changed since a frame.
func changed(t *check.T, from int) bool {
	return slices.ContainsFunc(t.Received(from), func(m wire.Message) bool {
		switch m.Method() {
		case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
			return true
		}
		return false
	})
}

// An invalidCursor is what came of a list request with a cursor that the
// server did not give out for that list.
type invalidCursor struct {
	offer.List
	what   string
	surely bool // nothing like it was given out; of others only the server knows whether they are good
	answer wire.Entry
	err    error
}

var invalidCursorKey = check.NewKey[[]invalidCursor]("invalid cursor")

// invalidCursors asks each list that can be read, up to one that leaves the
// request without an answer: with a cursor of our own, with one of another
// list, and with one of its own that lost its end.
func invalidCursors(t *check.T) []invalidCursor {
	return check.Once(t, invalidCursorKey, func() []invalidCursor {
		var out []invalidCursor
		walks := paged(t, 1)
		for _, w := range walks {
			tries := []invalidCursor{{List: w.List, what: "an invalid cursor", surely: true}}
			cursors := []string{"mcpcheck-invalid"}
			for _, other := range walks {
				if next := other.Next(); next != "" && other.Method != w.Method && len(tries) == 1 {
					tries = append(tries, invalidCursor{List: w.List, what: "a cursor of " + other.Method})
					cursors = append(cursors, next)
				}
			}
			if next := w.Next(); len(next) > 1 {
				tries = append(tries, invalidCursor{List: w.List, what: "a cursor without its last character"})
				cursors = append(cursors, next[:len(next)-1])
			}
			for i, c := range tries {
				c.answer, c.err = t.Try(w.Method, check.Params{"cursor": cursors[i]}).Get()
				if out = append(out, c); c.err != nil {
					return out
				}
			}
		}
		return out
	})
}
