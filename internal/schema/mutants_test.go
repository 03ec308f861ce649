package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// fullest is the source of the fullest instance: every optional member, one item a
// list, and the given branch of a union.
type fullest struct {
	branch int
	used   bool // of the branch
}

func (f *fullest) IntN(n int) int {
	if !f.used {
		f.used = true
		return min(f.branch, n-1)
	}
	return min(1, n-1)
}

// mutants returns v changed in one place, in every way: without a member or with
// another, with a value that is null, of another type, out of bounds, or another
// of the literals that schemas name. It descends so many levels.
func mutants(v any, levels int, literals []string) (out []any) {
	if levels < 0 {
		return nil
	}
	for _, other := range []any{nil, "zz", json.Number("1"), json.Number("1.5"), json.Number("-1"), true, []any{},
		map[string]any{}} {
		if !sameType(v, other) || v != nil && !isContainer(v) && v != other {
			out = append(out, other)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			less := maps.Clone(v)
			delete(less, name)
			out = append(out, less)
			for _, m := range mutants(v[name], levels-1, literals) {
				changed := maps.Clone(v)
				changed[name] = m
				out = append(out, changed)
			}
		}
		for _, added := range []string{"added", "_meta", "params", "id", "mode", "task"} {
			if _, there := v[added]; !there {
				more := maps.Clone(v)
				more[added] = json.Number("0.5")
				out = append(out, more)
			}
		}
	case []any:
		for i, item := range v {
			out = append(out, slices.Delete(slices.Clone(v), i, i+1))
			for _, m := range mutants(item, levels-1, literals) {
				changed := slices.Clone(v)
				changed[i] = m
				out = append(out, changed)
			}
		}
		if len(v) > 0 {
			out = append(out, slices.Repeat(v[:1], 101), append(slices.Clone(v), nil))
		}
	case string:
		out = append(out, v+"x", strings.ToUpper(v)+"Y")
		if slices.Contains(literals, v) {
			for _, other := range literals {
				out = append(out, other)
			}
		}
	case json.Number:
		out = append(out, json.Number("1000"), json.Number("-0.5"), json.Number("2e0"), json.Number("1e30"))
	}
	return out
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func sameType(a, b any) bool {
	switch a.(type) {
	case nil:
		return b == nil
	case string:
		_, ok := b.(string)
		return ok
	case json.Number:
		_, ok := b.(json.Number)
		return ok
	case bool:
		_, ok := b.(bool)
		return ok
	case []any:
		_, ok := b.([]any)
		return ok
	default:
		_, ok := b.(map[string]any)
		return ok
	}
}

// literalsOf returns the strings of const and enum in a schema document, except
// methods.
func literalsOf(schema any) (out []string) {
	switch v := schema.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			sub := v[key]
			if list, ok := sub.([]any); ok && key == "enum" {
				for _, l := range list {
					if l, ok := l.(string); ok {
						out = append(out, l)
					}
				}
			}
			if l, ok := sub.(string); ok && key == "const" && !strings.Contains(l, "/") {
				out = append(out, l)
			}
			out = append(out, literalsOf(sub)...)
		}
	case []any:
		for _, sub := range v {
			out = append(out, literalsOf(sub)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// simplify rewrites an official schema document in the keywords that the
// interpreter has, so that it can make instances.
func simplify(t *testing.T, doc any) []byte {
	t.Helper()
	_, defs := definitions(doc)
	var rewrite func(v any, isSchema bool) any
	rewrite = func(v any, isSchema bool) any {
		switch v := v.(type) {
		case map[string]any:
			if !isSchema { // a mapping of names to schemas
				out := map[string]any{}
				for k, sub := range v {
					out[k] = rewrite(sub, true)
				}
				return out
			}
			out := map[string]any{}
			for k, sub := range v {
				switch k {
				case "$ref":
					out[k] = strings.Replace(sub.(string), "#/definitions/", "#/$defs/", 1)
				case "description":
				case "properties":
					out[k] = rewrite(sub, false)
				case "additionalProperties":
					if object, ok := sub.(map[string]any); ok && len(object) > 0 {
						out[k] = rewrite(sub, true)
					}
				case "items":
					out[k] = rewrite(sub, true)
				case "anyOf":
					var list []any
					for _, b := range sub.([]any) {
						list = append(list, rewrite(b, true))
					}
					out[k] = list
				case "allOf": // always of objects
					out["type"] = "object"
					out["properties"], out["required"] = mergeObjects(defs, sub.([]any), func(v any) any {
						return rewrite(v, true)
					})
				default:
					out[k] = sub
				}
			}
			return out
		}
		return v
	}
	text, err := json.Marshal(map[string]any{"x-methods": map[string]any{}, "$defs": rewrite(defs, false)})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mergeObjects returns the properties and the required members of all schemas of
// an allOf, rewritten.
func mergeObjects(defs map[string]any, all []any, rewrite func(any) any) (props map[string]any, required []any) {
	props, required = map[string]any{}, []any{}
	for _, b := range all {
		b := b.(map[string]any)
		if r, ok := b["$ref"].(string); ok {
			b = defs[r[strings.LastIndex(r, "/")+1:]].(map[string]any)
		}
		b = rewrite(b).(map[string]any)
		if p, ok := b["properties"].(map[string]any); ok {
			maps.Copy(props, p)
		}
		if q, ok := b["required"].([]any); ok {
			required = append(required, q...)
		}
	}
	return props, required
}
