package schema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of what is made: what a schema asks for beyond them is given up.
const (
	maxMembers   = 200
	maxItemsMade = 200
)

// object makes an object of the members that the schemas require, and of those
// that they describe as the style wants.
func (d *valueMaker) object(f []*jsonschema.Schema, depth int) (any, bool) {
	members := map[string]bool{} // whether it is required
	f, ok := d.addRequired(f, members, depth)
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
	described := slices.DeleteFunc(d.optionalNames(f), func(name string) bool { _, in := members[name]; return in })
	for _, name := range described {
		if len(members) < most && d.wantsOptional(depth) {
			members[name] = false
		}
	}
	if f, ok = d.addRequired(f, members, depth); !ok {
		return nil, false
	}
	d.addOptional(f, members, described, fewest)
	if f, ok = d.addRequired(f, members, depth); !ok {
		return nil, false
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v, ok := d.value(memberSchemas(f, name), anyType, depth+1)
		switch {
		case ok:
			out[name] = v
		case members[name]:
			return nil, false
		}
	}
	return out, true
}

// wants tells whether an optional member is made.
func (d *valueMaker) wantsOptional(depth int) bool {
	if depth >= deepLevel || d.g.size > largeSize {
		return false
	}
	return d.style == Full || d.style == Free && d.choose(2) == 1
}

// described returns the optional members that schemas describe, or speak of as
// what others depend on, and that can be made.
func (d *valueMaker) optionalNames(f []*jsonschema.Schema) []string {
	var names []string
	for _, s := range f {
		names = slices.AppendSeq(names, maps.Keys(s.Properties))
		names = slices.AppendSeq(names, maps.Keys(s.DependentRequired))
		names = slices.AppendSeq(names, maps.Keys(s.DependentSchemas))
		names = slices.AppendSeq(names, maps.Keys(s.Dependencies))
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !d.canMakeMember(f, name) })
}

// possible tells whether a member of that name can be made.
func (d *valueMaker) canMakeMember(f []*jsonschema.Schema, name string) bool {
	shut := func(s *jsonschema.Schema) bool { return s == falseSchema || s != nil && d.g.height[s] >= infinite }
	for _, s := range f {
		if sub, ok := s.Dependencies[name].(*jsonschema.Schema); ok && shut(sub) || shut(s.DependentSchemas[name]) {
			return false
		}
	}
	return !slices.ContainsFunc(memberSchemas(f, name), shut)
}

// require adds the members that are required, those that others depend on
// among them, and returns the schemas with those that members bring in.
func (d *valueMaker) addRequired(f []*jsonschema.Schema, members map[string]bool, depth int) ([]*jsonschema.Schema, bool) {
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
				also, ok := d.expand(more, depth)
				if !ok {
					return nil, false
				}
				f, changed = append(slices.Clone(f), also...), true
			}
		}
	}
	return f, len(members) <= maxMembers
}

// fill adds members until there are enough: described ones, then those whose
// names fit a pattern, then any.
func (d *valueMaker) addOptional(f []*jsonschema.Schema, members map[string]bool, described []string, fewest int) {
	for _, name := range described {
		if _, in := members[name]; !in && len(members) < fewest {
			members[name] = false
		}
	}
	var rules []*jsonschema.Schema
	var patterns []jsonschema.Regexp
	more := false // members of any name have a schema
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
	if d.g.size <= largeSize && (d.style == Free && (more || len(rules)+len(patterns) > 0 || d.attempts > 4) || d.style == Full && (more || len(patterns) > 0)) {
		want = max(want, len(members)+1)
	}
	for try := range 4 * (want + 1) {
		if len(members) >= want {
			return
		}
		name := fmt.Sprintf("member%d", 1+try)
		now := d.retry(try)
		switch {
		case len(patterns) > 0 && (try%2 == 0 || len(rules) == 0):
			name, _ = now.matchPattern(patterns[try%len(patterns)], 1, 0)
		case len(rules) > 0:
			v, _ := now.value(rules, stringType, 1)
			name, _ = v.(string)
		}
		if _, in := members[name]; !in && fitsAll(rules, name) && d.canMakeMember(f, name) {
			members[name] = false
		}
	}
}

// member returns the schemas of the member of that name.
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

// never is the schema that nothing fits.
var falseSchema = &jsonschema.Schema{Bool: new(bool), DraftVersion: 2020}
