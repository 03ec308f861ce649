package schema

import (
	"encoding/json"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// array makes an array of the length that the schemas require, with the items that
// it must contain.
func (m *valueMaker) array(f []*jsonschema.Schema, depth int) (any, bool) {
	var wanted []*jsonschema.Schema // of contains, by the index of an item
	fewest, most, unique := 0, maxItemsMade, false
	for _, s := range f {
		fewest = max(fewest, valueOrZero(s.MinItems))
		if s.MaxItems != nil {
			most = min(most, *s.MaxItems)
		}
		unique = unique || s.UniqueItems
		for range min(containsAtLeast(s), maxItemsMade) {
			wanted = append(wanted, s.Contains)
		}
	}
	n := max(fewest, len(wanted))
	if n > most && fewest <= most {
		n = most // one item may fit several of wanted
	}
	if n > maxItemsMade || fewest > most {
		return nil, false
	}
	switch {
	case depth >= deepLevel || m.g.size > largeSize:
	case m.style == AllMembers:
		n = max(n, min(1, most))
	case m.style == RandomMembers:
		n += m.choose(min(3, most-n) + 1)
	}
	out := []any{}
	for i := range n {
		schemas := itemSchemasOfAll(f, i)
		if i < len(wanted) {
			schemas = append(slices.Clone(schemas), wanted[i])
		}
		v, ok := m.item(schemas, depth+1, out, unique)
		if !ok && i < len(wanted) { // a later item may fit it
			wanted = slices.Insert(wanted, i, (*jsonschema.Schema)(nil))
			if n = max(n, min(len(wanted), most)); i < n {
				v, ok = m.item(itemSchemasOfAll(f, i), depth+1, out, unique)
			}
		}
		if !ok {
			if len(out) >= fewest {
				break
			}
			return nil, false
		}
		out = append(out, v)
	}
	for i := len(out); i < min(len(wanted), most); i++ {
		v, ok := m.item(append(slices.Clone(itemSchemasOfAll(f, i)), wanted[i]), depth+1, out, unique)
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// item makes an item, which differs from those before it if items are unique.
func (m *valueMaker) item(schemas []*jsonschema.Schema, depth int, before []any, unique bool) (any, bool) {
	schemas = slices.DeleteFunc(schemas, func(s *jsonschema.Schema) bool { return s == nil })
	for try := range 50 {
		now := m
		if try > 0 {
			now = m.retry(2 + try)
		}
		v, ok := now.value(schemas, anyType, depth)
		if !ok || !unique || !slices.ContainsFunc(before, func(o any) bool { return equalValues(o, v) }) {
			return v, ok
		}
	}
	return nil, false
}

// itemSchemasOfAll returns the schemas of the i-th item.
func itemSchemasOfAll(f []*jsonschema.Schema, i int) []*jsonschema.Schema {
	var out, rest []*jsonschema.Schema
	for _, s := range f {
		one := itemSchemas(s, i)
		if out = append(out, one...); len(one) == 0 && s.UnevaluatedItems != nil {
			rest = append(rest, s.UnevaluatedItems)
		}
	}
	if len(out) == 0 {
		return rest
	}
	return out
}

// itemSchemas returns the schemas of one schema for the i-th item.
func itemSchemas(s *jsonschema.Schema, i int) []*jsonschema.Schema {
	switch list := s.Items.(type) { // before 2020-12
	case *jsonschema.Schema:
		return []*jsonschema.Schema{list}
	case []*jsonschema.Schema:
		if i < len(list) {
			return []*jsonschema.Schema{list[i]}
		}
		switch more := s.AdditionalItems.(type) {
		case *jsonschema.Schema:
			return []*jsonschema.Schema{more}
		case bool:
			if !more {
				return []*jsonschema.Schema{falseSchema}
			}
		}
		return nil
	}
	switch {
	case i < len(s.PrefixItems):
		return []*jsonschema.Schema{s.PrefixItems[i]}
	case s.Items2020 != nil:
		return []*jsonschema.Schema{s.Items2020}
	}
	return nil
}

// containsAtLeast returns how many items must fit the keyword contains.
func containsAtLeast(s *jsonschema.Schema) int {
	switch {
	case s.Contains == nil:
		return 0
	case s.MinContains != nil:
		return *s.MinContains
	}
	return 1
}

// equalValues reports whether two values are equal in JSON Schema, as 1 and 1.0
// are.
func equalValues(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && compare(a.String(), b.String()) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalValues)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if other, ok := b[name]; !ok || !equalValues(v, other) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case json.Number, []any, map[string]any:
		return false
	}
	return a == b
}
