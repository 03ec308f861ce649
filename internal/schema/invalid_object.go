package schema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// extraMember is the name of a member that no schema describes.
const extraMember = "mcpcheck"

// breakObject breaks the keywords of objects.
func (b *breaker) breakObject(s *jsonschema.Schema, v map[string]any, path []string) {
	without := func(name string) any {
		out := maps.Clone(v)
		delete(out, name)
		return b.replaceAt(path, out)
	}
	adding := func(name string, member any) any {
		out := maps.Clone(v)
		out[name] = member
		return b.replaceAt(path, out)
	}
	for _, name := range s.Required {
		c := constraint{keyword: "required", place: appendStep(path, name), reportedPlace: nonNil(path),
			repairable: hasDefault(s.Properties[name])}
		b.tryBreak(c, "is missing", without(name))
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		for _, need := range s.DependentRequired[name] {
			b.tryBreak(constraint{keyword: "dependentRequired", place: appendStep(path, need),
				reportedPlace: nonNil(path)}, fmt.Sprintf("is missing beside %s", name), without(need))
		}
		if needs, ok := s.Dependencies[name].([]string); ok {
			for _, need := range needs {
				b.tryBreak(constraint{keyword: "dependencies", place: appendStep(path, need),
					reportedPlace: nonNil(path)}, fmt.Sprintf("is missing beside %s", name), without(need))
			}
		}
	}
	if s.AdditionalProperties == false {
		b.tryBreak(constraint{keyword: "additionalProperties", place: appendStep(path, extraMember),
			reportedPlace: nonNil(path), repairable: true}, "is not allowed", adding(extraMember, extraMember))
	}
	if u := s.UnevaluatedProperties; u != nil && u.Bool != nil && !*u.Bool {
		b.tryBreak(constraint{keyword: "unevaluatedProperties", place: appendStep(path, extraMember),
			reportedKeyword: "false", repairable: true}, "is not allowed", adding(extraMember, extraMember))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if sub := s.Properties[name]; sub.Bool != nil && !*sub.Bool {
			b.tryBreak(constraint{keyword: "properties", place: appendStep(path, name), reportedKeyword: "false",
				repairable: true}, "is not allowed", adding(name, extraMember))
		}
	}
	b.breakNames(s, v, path, adding)
	b.breakCount(s, v, path)
}

// nonNil returns a copy of a path that is not nil: nil means that the engine reports
// the place of the constraint.
func nonNil(path []string) []string { return append([]string{}, path...) }

// hasDefault reports whether a schema has a default for a missing value.
func hasDefault(s *jsonschema.Schema) bool {
	if s == nil {
		return false
	}
	return s.Default != nil || s.Ref != nil && s.Ref.Default != nil
}

func (b *breaker) breakNames(s *jsonschema.Schema, v map[string]any, path []string, adding func(string, any) any) {
	if s.PropertyNames == nil {
		return
	}
	var out []any
	for _, name := range []string{extraMember, "MCPCHECK", "mcpcheck !", "!", "", "0",
		"mcpcheck-mcpcheck-mcpcheck-mcpcheck-mcpcheck-mcpcheck-mcpcheck-mcpcheck"} {
		if s.PropertyNames.Validate(name) == nil {
			continue
		}
		if made, ok := b.value(memberSchemas([]*jsonschema.Schema{s}, name), anyType, len(path)+1); ok {
			out = append(out, adding(name, made))
			if replaces := slices.Sorted(maps.Keys(v)); len(replaces) > 0 { // where the object may have no more members
				other := maps.Clone(v)
				delete(other, replaces[len(replaces)-1])
				other[name] = made
				out = append(out, b.replaceAt(path, other))
			}
		}
	}
	b.tryBreak(constraint{keyword: "propertyNames", place: path, repairable: true},
		"has a member whose name is not allowed", out...)
}

func (b *breaker) breakCount(s *jsonschema.Schema, v map[string]any, path []string) {
	if n := valueOrZero(s.MinProperties); n > 0 {
		var out []any
		for skip := range len(v) {
			few := maps.Clone(v)
			for i, name := range slices.Sorted(maps.Keys(v)) {
				if i >= skip && len(few) >= n {
					delete(few, name)
				}
			}
			if len(few) == n-1 {
				out = append(out, b.replaceAt(path, few))
			}
		}
		b.tryBreak(constraint{keyword: "minProperties", place: path}, "has fewer than "+countNoun(n, "member"), out...)
	}
	if s.MaxProperties == nil || *s.MaxProperties >= maxMembers {
		return
	}
	many := maps.Clone(v)
	add := func(name string) {
		if _, in := many[name]; in || len(many) > *s.MaxProperties {
			return
		}
		if made, ok := b.value(memberSchemas([]*jsonschema.Schema{s}, name), anyType, len(path)+1); ok {
			many[name] = made
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		add(name)
	}
	for i := range *s.MaxProperties + 1 {
		add(fmt.Sprintf("%s%d", extraMember, 1+i))
	}
	b.tryBreak(constraint{keyword: "maxProperties", place: path, repairable: true},
		"has more than "+countNoun(*s.MaxProperties, "member"), b.replaceAt(path, many))
}
