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

// AllChecked returns the messages that the schema describes by a definition, with
// what does not fit it.
func AllChecked(j *check.J, def string) []Checked {
	return check.Derived(j, "checked messages", func() map[string][]Checked {
		all := map[string][]Checked{}
		for _, s := range DistinctMessages(j) {
			if s.Definition != "" {
				broken := schema.For(j.Rev).Validate(s.Definition, []byte(s.Body.Raw))
				all[s.Definition] = append(all[s.Definition], Checked{s, broken})
			}
		}
		return all
	})[def]
}

// CompleteResults returns AllChecked without results of another type, which the
// definition of a page does not describe (basic/index#resulttype).
func CompleteResults(j *check.J, def string) []Checked {
	return Filter(AllChecked(j, def), func(h Checked) bool {
		kind := h.Body.Get("resultType")
		return !j.Facts.ResultType || !kind.Exists() || kind.String() == "complete"
	})
}

// JudgeShape judges the messages of a definition at some places, except at others:
// one check judges each place of a definition. subjects is the path of the values
// that a message must have to count as evidence; "" if each counts.
func JudgeShape(j *check.J, def, subjects string, at []string, but ...string) {
	check.Each(j, CompleteResults(j, def), func(h Checked) bool {
		for _, v := range h.Broken {
			if place := v.Pointer(); PointerMatches(place, at) && !PointerMatches(place, but) &&
				!PointerMatches(place, CommonPlaces) {
				j.Fail(h.Entry, "%s: %s", h.Name, v)
				return false
			}
		}
		return subjects == "" || len(h.Body.Get(subjects).Array()) > 0
	})
}
