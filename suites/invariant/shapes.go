package invariant

import (
	"maps"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A held is what was said under a definition, with what does not fit it.
type held struct {
	said
	broken []schema.Violation
}

// eachHeld gives what was said anew under a definition. It is held against it
// once for all judges.
func eachHeld(j *check.J, def string, look func(h held)) {
	for _, h := range check.Derived(j, "held by definition", func() map[string][]held {
		all := map[string][]held{}
		eachNew(j, func(s said) {
			if s.def != "" {
				all[s.def] = append(all[s.def], held{s, schema.For(j.Rev).Validate(s.def, []byte(s.value.Raw))})
			}
		})
		return all
	})[def] {
		look(h)
	}
}

// eachComplete leaves out results of another type: they are not what the
// definition of a page describes (basic/index#resulttype).
func eachComplete(j *check.J, def string, look func(h held)) {
	eachHeld(j, def, func(h held) {
		if kind := h.value.Get("resultType"); !j.Facts.ResultType || !kind.Exists() || kind.String() == "complete" {
			look(h)
		}
	})
}

// shaped judges the part of a definition that is at some of its places, but not
// at others: each place of a definition is the business of one check. subjects
// is the path of the values that must be there for the rule to have a subject.
func shaped(def, subjects string, at []string, but ...string) func(*check.J) {
	return func(j *check.J) {
		eachComplete(j, def, func(h held) {
			for _, v := range h.broken {
				if place := v.Place(); within(place, at) && !within(place, but) && !within(place, everywhere) {
					j.Fail(h.Entry, "%s: %s", h.name, v)
					return
				}
			}
			if subjects == "" || len(h.value.Get(subjects).Array()) > 0 {
				j.Saw()
			}
		})
	}
}

// eachEntry gives each entry of a list, by the method that asks for it, that is
// an object.
func eachEntry(j *check.J, method, member string, look func(e wire.Entry, entry gjson.Result)) {
	for _, l := range check.Derived(j, "entries of "+method+" in "+member, func() (all []entryOf) {
		eachResult(j, method, func(e wire.Entry, _ wire.Message, result gjson.Result) {
			list := result.Get(member)
			if !list.IsArray() {
				return
			}
			for _, entry := range list.Array() {
				if entry.IsObject() {
					all = append(all, entryOf{e, entry})
				}
			}
		})
		return all
	}) {
		look(l.answer, l.entry)
	}
}

// A entryOf is one entry of a list with the answer that holds it.
type entryOf struct {
	answer wire.Entry
	entry  gjson.Result
}

// unique judges that no two entries of a list share what identifies them. It
// follows the cursors from page to page; the same definition on two pages is
// one entry listed twice, which is judged by pagination.resumed.
func unique(method, member, key, what string) func(*check.J) {
	type listed struct{ page, definition string }
	return func(j *check.J) {
		walks := map[string]map[string]listed{} // by the cursor that goes on with it
		eachResult(j, method, func(e wire.Entry, request wire.Message, result gjson.Result) {
			seen := map[string]listed{}
			if cursor := request.Params().Get("cursor"); cursor.Exists() {
				seen = maps.Clone(walks[cursor.String()])
				if seen == nil {
					seen = map[string]listed{}
				}
			}
			page := e.Message.ID().Key()
			for _, entry := range result.Get(member).Array() {
				name := entry.Get(key)
				if name.Type != gjson.String {
					continue
				}
				if before, ok := seen[name.String()]; ok && (before.page == page || before.definition != entry.Raw) {
					j.Fail(e, "two %s %q", what, wire.Clip(name.String(), 80))
					return
				}
				seen[name.String()] = listed{page, entry.Raw}
				j.Saw()
			}
			if next := result.Get("nextCursor"); next.Type == gjson.String {
				walks[next.String()] = seen
			}
		})
	}
}
