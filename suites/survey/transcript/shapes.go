package transcript

import (
	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A Checked is what was said under a definition, with what does not fit it.
type Checked struct {
	Message
	Broken []schema.Violation
}

// EachChecked gives what was said anew under a definition. It is held against it
// once for all judges.
func EachChecked(j *check.J, def string, look func(h Checked)) {
	for _, h := range check.Derived(j, "held by definition", func() map[string][]Checked {
		all := map[string][]Checked{}
		EachDistinctMessage(j, func(s Message) {
			if s.Definition != "" {
				all[s.Definition] = append(all[s.Definition], Checked{s, schema.For(j.Rev).Validate(s.Definition, []byte(s.Body.Raw))})
			}
		})
		return all
	})[def] {
		look(h)
	}
}

// EachCompleteResult leaves out results of another type: they are not what the
// definition of a page describes (basic/index#resulttype).
func EachCompleteResult(j *check.J, def string, look func(h Checked)) {
	EachChecked(j, def, func(h Checked) {
		if kind := h.Body.Get("resultType"); !j.Facts.ResultType || !kind.Exists() || kind.String() == "complete" {
			look(h)
		}
	})
}

// JudgeShape judges the part of a definition that is at some of its places, but not
// at others: each place of a definition is the business of one check. subjects
// is the path of the values that must be there for the rule to have a subject.
func JudgeShape(def, subjects string, at []string, but ...string) func(*check.J) {
	return func(j *check.J) {
		EachCompleteResult(j, def, func(h Checked) {
			for _, v := range h.Broken {
				if place := v.Place(); PointerMatches(place, at) && !PointerMatches(place, but) && !PointerMatches(place, CommonPlaces) {
					j.Fail(h.Entry, "%s: %s", h.Name, v)
					return
				}
			}
			if subjects == "" || len(h.Body.Get(subjects).Array()) > 0 {
				j.Saw()
			}
		})
	}
}
