package schema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The limits of values: a schema that requires more has no value.
const (
	maxMembers   = 200
	maxItemsMade = 200
)

// object makes an object of the members that the schemas require, and of described
// ones by the style.
func (m *valueMaker) object(f []*jsonschema.Schema, depth int) (any, bool) {
	members := map[string]bool{} // name: is required
	f, ok := m.addRequired(f, members, depth)
	if !ok {
		return nil, false
	}
	fewest, most := 0, maxMembers
	for _, s := range f {
		fewest = max(fewest, valueOrZero(s.MinProperties))
		if s.MaxProperties != nil {
			most = min(most, *s.MaxProperties)
		}
	}
	if fewest > maxMembers {
		return nil, false
	}
	described := slices.DeleteFunc(m.optionalNames(f), func(name string) bool { _, in := members[name]; return in })
	for _, name := range described {
		if len(members) < most && m.wantsOptional(depth) {
			members[name] = false
		}
	}
	if f, ok = m.addRequired(f, members, depth); !ok {
		return nil, false
	}
	m.addOptional(f, members, described, fewest)
	if f, ok = m.addRequired(f, members, depth); !ok {
		return nil, false
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v, ok := m.value(memberSchemas(f, name), anyType, depth+1)
		switch {
		case ok:
			out[name] = v
		case members[name]:
			return nil, false
		}
	}
	return out, true
}

// wantsOptional reports whether to make an optional member.
func (m *valueMaker) wantsOptional(depth int) bool {
	if depth >= deepLevel || m.g.size > largeSize {
		return false
	}
	return m.style == AllMembers || m.style == RandomMembers && m.choose(2) == 1
}

// optionalNames returns the members that schemas describe, or that other keywords
// depend on, and that can be made.
func (m *valueMaker) optionalNames(f []*jsonschema.Schema) []string {
	var names []string
	for _, s := range f {
		names = slices.AppendSeq(names, maps.Keys(s.Properties))
		names = slices.AppendSeq(names, maps.Keys(s.DependentRequired))
		names = slices.AppendSeq(names, maps.Keys(s.DependentSchemas))
		names = slices.AppendSeq(names, maps.Keys(s.Dependencies))
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !m.canMakeMember(f, name) })
}

// canMakeMember reports whether a member of that name can be made.
func (m *valueMaker) canMakeMember(f []*jsonschema.Schema, name string) bool {
	shut := func(s *jsonschema.Schema) bool { return s == falseSchema || s != nil && m.g.height[s] >= infinite }
	for _, s := range f {
		if sub, ok := s.Dependencies[name].(*jsonschema.Schema); ok && shut(sub) || shut(s.DependentSchemas[name]) {
			return false
		}
	}
	return !slices.ContainsFunc(memberSchemas(f, name), shut)
}

// addRequired adds the members that are required, also those that others depend
// on. It returns the schemas and those that apply because of members.
func (m *valueMaker) addRequired(f []*jsonschema.Schema, members map[string]bool, depth int) ([]*jsonschema.Schema,
	bool) {
	for changed := true; changed; {
		changed = false
		need := func(names []string) {
			for _, name := range names {
				if !members[name] {
					members[name], changed = true, true
				}
			}
		}
		for _, s := range f {
			need(s.Required)
			var more []*jsonschema.Schema
			for _, name := range slices.Sorted(maps.Keys(members)) {
				need(s.DependentRequired[name])
				if names, ok := s.Dependencies[name].([]string); ok {
					need(names)
				}
				if sub, ok := s.Dependencies[name].(*jsonschema.Schema); ok && !slices.Contains(f, sub) {
					more = append(more, sub)
				}
				if sub := s.DependentSchemas[name]; sub != nil && !slices.Contains(f, sub) {
					more = append(more, sub)
				}
			}
			if len(more) > 0 {
				also, ok := m.expand(more, depth)
				if !ok {
					return nil, false
				}
				f, changed = append(slices.Clone(f), also...), true
			}
		}
	}
	return f, len(members) <= maxMembers
}

// addOptional adds members until there are enough: described ones, then those whose
// names match a pattern, then any.
func (m *valueMaker) addOptional(f []*jsonschema.Schema, members map[string]bool, described []string, fewest int) {
	for _, name := range described {
		if _, in := members[name]; !in && len(members) < fewest {
			members[name] = false
		}
	}
	var rules []*jsonschema.Schema
	var patterns []jsonschema.Regexp
	more := false // additionalProperties has a schema
	for _, s := range f {
		if s.PropertyNames != nil {
			rules = append(rules, s.PropertyNames)
		}
		patterns = append(patterns, namePatterns(s)...)
		if _, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
			more = true
		}
	}
	want := fewest
	if m.g.size <= largeSize && (m.style == RandomMembers && (more || len(rules)+len(patterns) > 0 || m.attempts > 4) ||
		m.style == AllMembers && (more || len(patterns) > 0)) {
		want = max(want, len(members)+1)
	}
	for try := range 4 * (want + 1) {
		if len(members) >= want {
			return
		}
		name := fmt.Sprintf("member%d", 1+try)
		now := m.retry(try)
		switch {
		case len(patterns) > 0 && (try%2 == 0 || len(rules) == 0):
			name, _ = now.matchPattern(patterns[try%len(patterns)], 1, 0)
		case len(rules) > 0:
			v, _ := now.value(rules, stringType, 1)
			name, _ = v.(string)
		}
		if _, in := members[name]; !in && fitsAll(rules, name) && m.canMakeMember(f, name) {
			members[name] = false
		}
	}
}

// memberSchemas returns the schemas of the member of that name.
func memberSchemas(f []*jsonschema.Schema, name string) []*jsonschema.Schema {
	var out, rest []*jsonschema.Schema
	seen := false
	for _, s := range f {
		found := false
		if sub := s.Properties[name]; sub != nil {
			out, found = append(out, sub), true
		}
		for _, p := range namePatterns(s) {
			if p.MatchString(name) {
				out, found = append(out, s.PatternProperties[p]), true
			}
		}
		if !found && s.AdditionalProperties != nil {
			found = true
			switch more := s.AdditionalProperties.(type) {
			case *jsonschema.Schema:
				out = append(out, more)
			case bool:
				if !more {
					out = append(out, falseSchema)
				}
			}
		}
		seen = seen || found
		if s.UnevaluatedProperties != nil {
			rest = append(rest, s.UnevaluatedProperties)
		}
	}
	if !seen {
		out = append(out, rest...)
	}
	return out
}

// falseSchema is the schema that no value fits.
var falseSchema = &jsonschema.Schema{Bool: new(bool), DraftVersion: 2020}
