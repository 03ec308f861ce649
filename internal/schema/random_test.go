package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"pgregory.net/rapid"
)

// drawn is a Source that rapid can shrink.
type drawn struct{ t *rapid.T }

func (d drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "choice") }

// Every schema that has a fitting value gets arguments, and each invalid one breaks the
// constraint that it names.
func TestArgumentsOfRandomSchemas(t *testing.T) {
	count := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		src := drawn{t}
		w := &schemaWriter{src: src}
		doc := w.object(0)
		doc["$defs"] = map[string]any{
			"word": map[string]any{"type": "string", "minLength": 1},
			"node": map[string]any{"type": "object",
				"properties": map[string]any{"name": map[string]any{"$ref": "#/$defs/word"},
					"next": map[string]any{"$ref": "#/$defs/node"}}, "required": []any{"name"},
				"additionalProperties": false},
		}
		in := wire.Encode(doc)
		g, err := NewGenerator(in)
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		judge, err := CompileTool(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, style := range []Style{RequiredOnly, AllMembers, RandomMembers} {
			args, err := g.Valid(src, style)
			if err != nil {
				t.Fatalf("%s, style %d: %v", in, style, err)
			}
			if broken, err := judge.Validate(args); err != nil || len(broken) > 0 {
				t.Fatalf("%s does not fit %s: %v, %v", args, in, broken, err)
			}
			count["valid"]++
		}
		all, err := g.Invalid(src, 30)
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		for _, m := range all {
			broken, err := judge.Validate(m.JSON)
			if err != nil || len(broken) == 0 {
				t.Fatalf("%s fits %s, but should not: %s (%v)", m.JSON, in, m.Why, err)
			}
			if broken, err := judge.Validate(m.Base); err != nil || len(broken) > 0 {
				t.Fatalf("%s, the base of invalid arguments, does not fit %s", m.Base, in)
			}
			if w.unions == 0 && slices.ContainsFunc(broken, func(v Violation) bool { return !isNamedBy(m, v) }) {
				t.Fatalf("%s: %s breaks %v\n%s", m.Why, m.JSON, broken, in)
			}
			count[m.Keyword]++
		}
	})
	t.Log(count)
	if count["valid"] < 100 || len(count) < 15 {
		t.Errorf("too few cases were tried: %v", count)
	}
}

// isNamedBy reports whether invalid arguments name a violation.
func isNamedBy(m InvalidArguments, v Violation) bool {
	switch m.Keyword {
	case "propertyNames": // the engine may give these another place than theirs
		return v.Keyword == m.Keyword
	case "contains", "minContains": // reported by what the items lack
		return strings.HasPrefix(v.InstancePath, m.Path)
	}
	if v.Keyword == "" { // the schema false
		return v.InstancePath == m.Path
	}
	keyword := v.Keyword
	if keyword == "dependency" {
		keyword = "dependencies"
	}
	return keyword == m.Keyword && (v.InstancePath == m.Path ||
		v.InstancePath == m.Path[:strings.LastIndex(m.Path, "/")])
}

// A schemaWriter writes schemas that have a fitting value.
type schemaWriter struct {
	src    Source
	unions int
}

func (w *schemaWriter) may() bool { return w.src.IntN(2) == 1 }

func (w *schemaWriter) any(depth int) map[string]any {
	n := 8
	if depth > 2 {
		n = 5
	}
	switch w.src.IntN(n) {
	case 0:
		return w.text()
	case 1:
		return w.number()
	case 2:
		return map[string]any{"type": "boolean"}
	case 3:
		return map[string]any{"enum": []any{"red", "green", 3, nil}[:1+w.src.IntN(4)]}
	case 4:
		return map[string]any{"$ref": []string{"#/$defs/word", "#/$defs/node"}[w.src.IntN(2)]}
	case 5:
		return w.object(depth + 1)
	case 6:
		return w.array(depth + 1)
	}
	w.unions++
	branches := []any{map[string]any{"type": "integer"}, map[string]any{"type": "null"}, w.array(depth + 1),
		map[string]any{"type": "object", "properties": map[string]any{"kind": map[string]any{"const": "k"}},
			"required": []any{"kind"}}}
	return map[string]any{[]string{"anyOf", "oneOf"}[w.src.IntN(2)]: branches[:2+w.src.IntN(3)]}
}

func (w *schemaWriter) text() map[string]any {
	s := map[string]any{"type": "string"}
	switch w.src.IntN(4) {
	case 0:
		low := w.src.IntN(8)
		s["minLength"], s["maxLength"] = low, low+w.src.IntN(8)
	case 1:
		s["pattern"] = []string{"^[a-z]{2,9}$", `^\d{4}-\d\d$`, "^(?:a|bc)+x?$", "[A-Z]", `^v\d+(\.\d+)*$`,
			"^[^@ ]+@[^@ ]+$"}[w.src.IntN(6)]
	case 2:
		s["format"] = []string{"uri", "email", "date-time", "uuid", "unknown"}[w.src.IntN(5)]
	case 3:
		s["not"] = map[string]any{"const": "text"}
	}
	return s
}

func (w *schemaWriter) number() map[string]any {
	s := map[string]any{"type": []string{"integer", "number"}[w.src.IntN(2)]}
	low := w.src.IntN(40) - 20
	if w.may() {
		s[[]string{"minimum", "exclusiveMinimum"}[w.src.IntN(2)]] = low
	}
	if w.may() {
		s[[]string{"maximum", "exclusiveMaximum"}[w.src.IntN(2)]] = low + 12 + w.src.IntN(9)
	}
	if w.may() {
		s["multipleOf"] = 1 + w.src.IntN(5)
	}
	return s
}

func (w *schemaWriter) array(depth int) map[string]any {
	s := map[string]any{"type": "array", "items": w.any(depth)}
	switch w.src.IntN(5) {
	case 0:
		low := w.src.IntN(3)
		s["minItems"], s["maxItems"] = low, low+w.src.IntN(3)
	case 1:
		s["items"], s["uniqueItems"], s["minItems"] = map[string]any{"type": "integer", "minimum": 1,
			"maximum": 6}, true, w.src.IntN(4)
	case 2:
		s["prefixItems"], s["items"], s["minItems"] = []any{w.any(depth), w.text()}, false, w.src.IntN(3)
	case 3:
		s["items"], s["contains"], s["minContains"], s["maxContains"] = map[string]any{
			"type": "integer"}, map[string]any{"minimum": 50}, w.src.IntN(3), 3
	}
	return s
}

func (w *schemaWriter) object(depth int) map[string]any {
	properties, required := map[string]any{}, []any{}
	for i := range w.src.IntN(4) {
		name := fmt.Sprintf("p%d", i)
		properties[name] = w.any(depth + 1)
		if w.may() {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "required": required}
	switch w.src.IntN(8) {
	case 0:
		s["additionalProperties"] = false
	case 1:
		s["additionalProperties"] = w.any(depth + 1)
		s["minProperties"] = len(required) + w.src.IntN(2)
	case 2:
		s["patternProperties"] = map[string]any{"^x-": w.text()}
		s["maxProperties"] = len(properties) + 1
	case 3:
		s["dependentRequired"] = map[string]any{"p0": []any{"q"}}
	case 4:
		s["dependentSchemas"] = map[string]any{"p0": map[string]any{"required": []any{"r"},
			"properties": map[string]any{"r": w.number()}}}
	case 5:
		s["if"] = map[string]any{"required": []any{"p0"}}
		s["then"] = map[string]any{"required": []any{"t"}}
		s["else"] = map[string]any{"required": []any{"e"}}
	case 6:
		s["allOf"] = []any{map[string]any{"properties": map[string]any{"more": w.text()}, "required": []any{"more"}}}
		s["unevaluatedProperties"] = false
	case 7:
		s["propertyNames"] = map[string]any{"maxLength": 20}
	}
	return s
}
