package pagination

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// The reasons why several checks are not observed, and what helps.
const (
	noList       = "no list could be read"
	noSecondPage = "no list has a second page"
	offerPages   = "return a list in pages, with a nextCursor"
	noSuchAnswer = "no list request with an invalid cursor was answered"
)

// probes returns the probes of the lists that the server declares.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "pagination.lists.answered",
			Says:  "the server answers the request for each list that it declares",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-every-request-answered"},
			Idle:  "the server declares nothing that has a list",
			Hint:  "declare tools, prompts or resources",
			// An error is an answer too: other checks judge whether it is the right one.
			Probe: func(t *check.T) {
				for _, l := range offer.Lists(t) {
					if w := offer.WalkOnce(t, l); w.Last.Raw == nil {
						t.Fail("an answer", "none", "%s: %s", l.Method, w.Failure)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "pagination.followed",
			Says:  "the server answers a list request with its nextCursor by a page",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-operations"},
			Idle:  noSecondPage,
			Hint:  offerPages,
			Probe: func(t *check.T) {
				for _, l := range offer.Lists(t) {
					w := offer.WalkOnce(t, l)
					if len(w.Pages) == 0 || !w.Pages[0].Answer.Message.Result().Get("nextCursor").Exists() {
						continue
					}
					if w.Failure != "" && len(w.Pages) < offer.MaxPages {
						t.Mark(w.Last)
						t.Fail("a page", w.Failure, "%s with the cursor of page %d was answered with %s", l.Method,
							len(w.Pages), w.Failure)
					}
					if len(w.Pages) > 1 {
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "pagination.resumed",
			Says:  "a page holds the entries after the previous page and repeats none of them",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-resumes-after-cursor"},
			Idle:  noSecondPage,
			Hint:  offerPages,
			// Two entries are the same if all their members are equal: entries that only
			// share a name are no matter of pagination.
			Probe: func(t *check.T) {
				for _, w := range walks(t, 2) {
					page := map[string]int{}
					for i, p := range w.Pages {
						for _, item := range p.Items {
							if first, ok := page[item.Raw]; ok && first < i {
								t.Mark(p.Answer)
								t.Fail("entries that follow page "+wire.Clip(p.Cursor, 60),
									"an entry of a previous page",
									"%s: page %d repeats %q of page %d", w.Method, i+1,
									wire.Clip(item.Get(w.Key).String(), 80), first+1)
							}
							page[item.Raw] = i
						}
					}
					if last := w.Pages[len(w.Pages)-1]; w.RepeatedCursor != "" && len(last.Items) == 0 {
						t.Mark(last.Answer)
						t.Fail("an end", "cursor "+wire.Clip(w.RepeatedCursor, 60),
							"%s has no end: an empty page repeats a cursor", w.Method)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "pagination.start",
			Says:  "a list request without a cursor returns the first page",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-request-without-cursor"},
			Idle:  "no list has an entry",
			Hint:  "list a tool, a prompt or a resource",
			// Lists may change between two requests: only a page without any entry of the
			// first one shows that the server did not start from the beginning.
			Probe: func(t *check.T) {
				for _, w := range walks(t, 1) {
					first := w.Names(w.Pages[0].Items)
					m := t.Request(w.Method, check.Params{})
					match.Expect(t, m).To(match.BeResult(), "%s was answered with a page, then with empty params",
						w.Method)
					list := m.Result().Get(w.Member)
					if !list.IsArray() {
						t.Fail("the first page", m.Summary(), "%s with empty params has no array %s", w.Method,
							w.Member)
					}
					again := w.Names(list.Array())
					if len(first) == 0 {
						continue
					}
					if !slices.ContainsFunc(first, func(name string) bool { return slices.Contains(again, name) }) {
						t.Fail("the first page again", m.Summary(),
							"%s without a cursor returned another page the second time", w.Method)
					}
					if offer.EqualNames(first, again) && !slices.Equal(first, again) {
						t.Note("%s returns the same entries in another order each time", w.Method)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "pagination.meta.served",
			Says:  "a list request with a _meta is served like one without params: clients may add one to any request",
			Level: spec.Robust,
			In:    spec.Handshake, // since 2026-07-28 each request has a _meta
			Spec:  "schema.ts#PaginatedRequest",
			Idle:  "the server serves no list",
			Hint:  "declare tools, prompts or resources, and answer their lists",
			Probe: func(t *check.T) {
				for _, w := range walks(t, 1) {
					for _, meta := range []check.Params{{}, {"mcpcheck.dev/note": 1}} {
						m := t.Request(w.Method, check.Params{"_meta": meta})
						match.Expect(t, m).To(match.BeResult(), "%s was answered with a page, then with the _meta %s",
							w.Method, check.MustJSON(meta))
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "pagination.cursor.stable",
			Says:  "a cursor that is used twice returns the same page twice",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-server-stable-cursors"},
			Idle:  noSecondPage,
			Hint:  offerPages,
			Probe: func(t *check.T) {
				for _, w := range walks(t, 2) {
					p := w.Pages[1]
					r := t.Try(w.Method, check.Params{"cursor": p.Cursor})
					if r.Err != nil {
						t.NotObserved(r.Err.Error(), "answer "+w.Method+" with the cursor of its second page")
					}
					match.Expect(t, r).To(match.BeResult(), "%s: the cursor of the second page was sent again",
						w.Method)
					again := r.Message.Result().Get(w.Member).Array()
					if !offer.EqualNames(w.Names(p.Items), w.Names(again)) && !listChanged(t, p.Answer.Index) {
						t.Fail("the same page", r.Message.Summary(),
							"%s: the cursor of the second page returns other entries the second time", w.Method)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "pagination.cursor.invalid.survived",
			Says:  "the server answers a list request with an invalid cursor and goes on",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-server-invalid-cursor-graceful"},
			Idle:  noList,
			Hint:  "declare tools, prompts or resources, and answer their lists",
			Probe: func(t *check.T) {
				for _, c := range invalidCursors(t) {
					if c.reply.Err != nil {
						t.Fail("an answer", "none", "%s with %s: %v", c.Method, c.what, c.reply.Err)
					}
					t.Saw()
				}
				if t.Over() == nil {
					t.Survives("list requests with an invalid cursor")
				}
			},
		},
		{
			ID:    "pagination.cursor.invalid",
			Says:  "the server answers a list request with an invalid cursor with error -32602",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"pagination-invalid-cursor-code"},
			Idle:  noSuchAnswer,
			Hint:  "declare tools, prompts or resources, and answer their lists",
			Probe: func(t *check.T) {
				for _, c := range invalidCursors(t) {
					if !c.surely && c.reply.Succeeded() {
						t.Note("%s accepts %s", c.Method, c.what)
					}
					if c.reply.Err != nil || !c.surely {
						continue
					}
					t.Mark(c.reply.Entry)
					match.Expect(t, c.reply).To(match.BeError(spec.InvalidParams),
						"%s with a cursor that the server never returned", c.Method)
					t.Saw()
				}
			},
		},
	}
}

// walks returns the lists that have at least so many pages.
func walks(t *check.T, pages int) []*offer.Walk {
	var out []*offer.Walk
	for _, l := range offer.Lists(t) {
		if w := offer.WalkOnce(t, l); len(w.Pages) >= pages {
			out = append(out, w)
		}
	}
	return out
}

// listChanged reports whether the server sent a notification since a frame that a
// list has changed.
func listChanged(t *check.T, from int) bool {
	return slices.ContainsFunc(t.Received(from), func(m wire.Message) bool {
		return strings.HasSuffix(m.Method(), "/list_changed")
	})
}

// An invalidCursor is a list request with a cursor that the server did not return
// for that list, and its answer.
type invalidCursor struct {
	offer.List
	what   string
	surely bool // the cursor is not even similar to one of the server's; of others only the server knows
	cursor string
	reply  check.Reply
}

var invalidCursorsKey = check.NewKey[[]invalidCursor]("invalid cursors")

// invalidCursors requests each list that can be read with invalid cursors. It stops
// at the first request without an answer.
func invalidCursors(t *check.T) []invalidCursor {
	return check.Once(t, invalidCursorsKey, func() []invalidCursor {
		var out []invalidCursor
		lists := walks(t, 1)
		for _, w := range lists {
			for _, c := range invalidCursorsOf(w, lists) {
				c.reply = t.Try(w.Method, check.Params{"cursor": c.cursor})
				if out = append(out, c); c.reply.Err != nil {
					return out
				}
			}
		}
		return out
	})
}

// invalidCursorsOf returns invalid cursors for a list: one of our own, one of
// another list, and one of its own without its last character.
func invalidCursorsOf(w *offer.Walk, lists []*offer.Walk) []invalidCursor {
	out := []invalidCursor{{List: w.List, what: "an invalid cursor", surely: true, cursor: "mcpcheck-invalid"}}
	for _, other := range lists {
		if next := other.NextCursor(); next != "" && other.Method != w.Method {
			out = append(out, invalidCursor{List: w.List, what: "a cursor of " + other.Method, cursor: next})
			break
		}
	}
	if next := w.NextCursor(); len(next) > 1 {
		out = append(out, invalidCursor{
			List: w.List, what: "a cursor without its last character", cursor: next[:len(next)-1],
		})
	}
	return out
}
