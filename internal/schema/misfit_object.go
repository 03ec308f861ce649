package schema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// surplus is the name of a member that no schema describes.
const surplus = "mcpcheck"

// breakObject breaks the keywords of objects.
func (b *breaker) breakObject(s *jsonschema.Schema, v map[string]any, path []string) {
	without := func(name string) any {
		out := maps.Clone(v)
		delete(out, name)
		return b.with(path, out)
	}
	adding := func(name string, member any) any {
		out := maps.Clone(v)
		out[name] = member
		return b.with(path, out)
	}
	for _, name := range s.Required {
		c := constraint{keyword: "required", place: down(path, name), at: at(path), mends: hasDefault(s.Properties[name])}
		b.broken(c, "is missing", without(name))
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		for _, need := range s.DependentRequired[name] {
			b.broken(constraint{keyword: "dependentRequired", place: down(path, need), at: at(path)}, fmt.Sprintf("is missing beside %s", name), without(need))
		}
		if needs, ok := s.Dependencies[name].([]string); ok {
			for _, need := range needs {
				b.broken(constraint{keyword: "dependencies", place: down(path, need), at: at(path)}, fmt.Sprintf("is missing beside %s", name), without(need))
			}
		}
	}
	if s.AdditionalProperties == false {
		b.broken(constraint{keyword: "additionalProperties", place: down(path, surplus), at: at(path), mends: true}, "is not allowed", adding(surplus, surplus))
	}
	if u := s.UnevaluatedProperties; u != nil && u.Bool != nil && !*u.Bool {
		b.broken(constraint{keyword: "unevaluatedProperties", place: down(path, surplus), tells: "false", mends: true}, "is not allowed", adding(surplus, surplus))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if sub := s.Properties[name]; sub.Bool != nil && !*sub.Bool {
			b.broken(constraint{keyword: "properties", place: down(path, name), tells: "false", mends: true}, "is not allowed", adding(name, surplus))
		}
	}
	b.breakNames(s, v, path, adding)
	b.breakCount(s, v, path)
}

// at tells the engine's place apart from none.
func at(path []string) []string { return append([]string{}, path...) }

// hasDefault tells whether a schema says what a missing value would be.
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
	for _, name := range []string{surplus, "MCPCHECK", "mcpcheck !", "!", "", "0", "mcpcheck-mcpcheck-mcpcheck-mcpcheck-mcpcheck-mcpcheck-mcpcheck-mcpcheck"} {
		if s.PropertyNames.Validate(name) == nil {
			continue
		}
		if made, ok := b.value(member([]*jsonschema.Schema{s}, name), anything, len(path)+1); ok {
			out = append(out, adding(name, made))
			if replaces := slices.Sorted(maps.Keys(v)); len(replaces) > 0 { // where there are enough already
				other := maps.Clone(v)
				delete(other, replaces[len(replaces)-1])
				other[name] = made
				out = append(out, b.with(path, other))
			}
		}
	}
	b.broken(constraint{keyword: "propertyNames", place: path, mends: true}, "has a member whose name is not allowed", out...)
}

func (b *breaker) breakCount(s *jsonschema.Schema, v map[string]any, path []string) {
	if n := least(s.MinProperties); n > 0 {
		var out []any
		for skip := range len(v) {
			few := maps.Clone(v)
			for i, name := range slices.Sorted(maps.Keys(v)) {
				if i >= skip && len(few) >= n {
					delete(few, name)
				}
			}
			if len(few) == n-1 {
				out = append(out, b.with(path, few))
			}
		}
		b.broken(constraint{keyword: "minProperties", place: path}, "has less than "+counted(n, "member"), out...)
	}
	if s.MaxProperties == nil || *s.MaxProperties >= mostMembers {
		return
	}
	many := maps.Clone(v)
	add := func(name string) {
		if _, in := many[name]; in || len(many) > *s.MaxProperties {
			return
		}
		if made, ok := b.value(member([]*jsonschema.Schema{s}, name), anything, len(path)+1); ok {
			many[name] = made
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		add(name)
	}
	for i := range *s.MaxProperties + 1 {
		add(fmt.Sprintf("%s%d", surplus, 1+i))
	}
	b.broken(constraint{keyword: "maxProperties", place: path, mends: true}, "has more than "+counted(*s.MaxProperties, "member"), b.with(path, many))
}
