package transcript

import (
	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A Validated is a message with the violations of its definition.
type Validated struct {
	Message
	Violations []schema.Violation
}

// ValidatedMessages returns the distinct messages that the schema describes by a
// definition.
func ValidatedMessages(j *check.J, def string) []Validated {
	return check.Derived(j, "validated messages", func() map[string][]Validated {
		all := map[string][]Validated{}
		for _, s := range DistinctMessages(j) {
			if s.Definition != "" {
				broken := schema.For(j.Rev).Validate(s.Definition, []byte(s.Body.Raw))
				all[s.Definition] = append(all[s.Definition], Validated{s, broken})
			}
		}
		return all
	})[def]
}

// CompleteResults returns ValidatedMessages without results of another type, which the
// page of a method does not describe (basic/index#resulttype).
func CompleteResults(j *check.J, def string) []Validated {
	return Filter(ValidatedMessages(j, def), func(h Validated) bool {
		kind := h.Body.Get("resultType")
		return !j.Facts.ResultType || !kind.Exists() || kind.String() == "complete"
	})
}

// JudgeShape judges the messages of a definition at some places, except at others: one
// check judges each place of a definition. subjects is the path of the values that a
// message must have to count as evidence; "" if each counts.
func JudgeShape(j *check.J, def, subjects string, at []string, but ...string) {
	check.Each(j, CompleteResults(j, def), func(h Validated) bool {
		for _, v := range h.Violations {
			if place := v.Pointer(); PointerMatches(place, at) && !PointerMatches(place, but) &&
				!PointerMatches(place, CommonPlaces) {
				j.Fail(h.Entry, "%s: %s", h.Name, v)
				return false
			}
		}
		return subjects == "" || len(h.Body.Get(subjects).Array()) > 0
	})
}
