package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Arguments makes an object that fits the inputSchema of a tool: what a default,
// example, const or enum proposes first, else a plain value. It follows
// references inside of the schema and takes the first branch of a union. The
// result was validated; the error says why none could be made.
func Arguments(src Source, inputSchema []byte) ([]byte, error) {
	tool, err := CompileToolAnyDialect(inputSchema)
	if err != nil {
		return nil, fmt.Errorf("make arguments: %w", err)
	}
	doc, err := decodeSchema(inputSchema)
	if err != nil {
		return nil, fmt.Errorf("make arguments: %w", err)
	}
	var broken []Violation
	for _, a := range []argumentMaker{{}, {optional: true}, {unproposed: true}, {unproposed: true, optional: true}} {
		a.src, a.root = src, doc
		text, err := json.Marshal(a.make(doc, 0))
		if err != nil {
			return nil, fmt.Errorf("make arguments: %w", err)
		}
		if !gjson.ParseBytes(text).IsObject() {
			return nil, fmt.Errorf("make arguments: the schema asks for %s", wire.TypeName(gjson.ParseBytes(text)))
		}
		if broken, err = tool.Validate(text); err != nil {
			return nil, fmt.Errorf("make arguments: %w", err)
		}
		if len(broken) == 0 {
			return text, nil
		}
	}
	return nil, fmt.Errorf("make arguments: what was made does not fit the schema: %v", broken[0])
}

type argumentMaker struct {
	src        Source
	root       any
	optional   bool // make the optional members too
	unproposed bool // pass over defaults and examples: they need not fit
}

// make returns a value for the schema. From a depth on, where a schema refers to
// itself, it gives up with null, which validation then reports.
func (a *argumentMaker) make(schema any, depth int) any {
	s, ok := a.resolve(schema).(map[string]any)
	if !ok || depth > 20 {
		return map[string]any{}
	}
	if v, ok := a.proposed(s); ok {
		return v
	}
	switch kindOf(s) {
	case "object":
		return a.object(s, depth)
	case "array":
		return a.array(s, depth)
	case "string":
		return a.text(s)
	case "integer":
		return a.number(s, true)
	case "number":
		return a.number(s, false)
	case "boolean":
		return a.src.IntN(2) == 1
	case "null":
		return nil
	}
	return "text"
}

// resolve follows references and takes the parts of allOf and the first branch
// of anyOf and oneOf into the schema itself.
func (a *argumentMaker) resolve(schema any) any {
	s, ok := schema.(map[string]any)
	for range 20 {
		if !ok {
			return schema
		}
		var parts []any
		if to, isRef := s["$ref"].(string); isRef {
			parts = append(parts, a.find(to))
		}
		if all, isList := s["allOf"].([]any); isList {
			parts = append(parts, all...)
		}
		for _, key := range []string{"anyOf", "oneOf"} {
			if any, isList := s[key].([]any); isList && len(any) > 0 {
				parts = append(parts, any[0])
			}
		}
		if len(parts) == 0 {
			return s
		}
		merged := maps.Clone(s)
		for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
			delete(merged, key)
		}
		for _, p := range parts {
			if p, isObject := p.(map[string]any); isObject {
				merge(merged, p)
			}
		}
		s = merged
	}
	return s
}

// merge adds the keywords of part to s; members and required ones of both count.
func merge(s, part map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(part)) {
		old, there := s[key]
		switch new := part[key].(type) {
		case map[string]any:
			if old, ok := old.(map[string]any); ok && key == "properties" {
				both := maps.Clone(old)
				maps.Copy(both, new)
				s[key] = both
				continue
			}
		case []any:
			if old, ok := old.([]any); ok && key == "required" {
				s[key] = slices.Concat(old, new)
				continue
			}
		}
		if !there {
			s[key] = part[key]
		}
	}
}

// find returns the part of the schema that a local reference leads to.
func (a *argumentMaker) find(to string) any {
	path, local := strings.CutPrefix(to, "#")
	if !local {
		return nil
	}
	at := a.root
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[step]
	}
	return at
}

func (a *argumentMaker) proposed(s map[string]any) (any, bool) {
	if v, ok := s["const"]; ok {
		return v, true
	}
	lists := []string{"enum"}
	if !a.unproposed {
		for _, key := range []string{"default", "example"} {
			if v, ok := s[key]; ok {
				return v, true
			}
		}
		lists = []string{"examples", "enum"}
	}
	for _, key := range lists {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			return list[a.src.IntN(len(list))], true
		}
	}
	return nil, false
}

func kindOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, k := range t {
			if k, ok := k.(string); ok && k != "null" {
				return k
			}
		}
		return "null"
	}
	for _, hint := range []struct {
		kind     string
		keywords []string
	}{
		{"object", []string{"properties", "required", "additionalProperties"}},
		{"array", []string{"items", "minItems"}},
		{"string", []string{"minLength", "maxLength", "format", "pattern"}},
		{"number", []string{"minimum", "maximum", "multipleOf"}},
	} {
		for _, k := range hint.keywords {
			if _, ok := s[k]; ok {
				return hint.kind
			}
		}
	}
	return ""
}

func (a *argumentMaker) object(s map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required := map[string]bool{}
	list, _ := s["required"].([]any)
	for _, name := range list {
		if name, ok := name.(string); ok {
			required[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if required[name] || a.optional && depth < 4 {
			out[name] = a.make(properties[name], depth+1)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		if _, made := out[name]; !made {
			out[name] = a.make(s["additionalProperties"], depth+1)
		}
	}
	return out
}

func (a *argumentMaker) array(s map[string]any, depth int) any {
	n := max(int(bound(s, "minItems", 0)), a.src.IntN(2))
	n = min(n, int(min(bound(s, "maxItems", 100), 100)))
	out := make([]any, n)
	prefix, _ := s["prefixItems"].([]any)
	for i := range out {
		of := s["items"]
		if i < len(prefix) {
			of = prefix[i]
		}
		v := a.make(of, depth+1)
		if unique, _ := s["uniqueItems"].(bool); unique && i > 0 {
			v = distinct(v, i)
		}
		out[i] = v
	}
	return out
}

// distinct changes a plain value so that the i-th differs from those before.
func distinct(v any, i int) any {
	switch v := v.(type) {
	case string:
		return fmt.Sprint(v, i)
	case json.Number:
		f, _ := v.Float64()
		return number(f + float64(i))
	case bool:
		return !v
	}
	return v
}

func (a *argumentMaker) text(s map[string]any) string {
	switch s["format"] {
	case "uri", "iri", "uri-reference", "url":
		return "https://example.com/"
	case "email", "idn-email":
		return "user@example.com"
	case "date":
		return "2025-06-18"
	case "date-time":
		return "2025-06-18T12:00:00Z"
	case "time":
		return "12:00:00Z"
	case "uuid":
		return "123e4567-e89b-42d3-a456-426614174000"
	case "hostname":
		return "example.com"
	case "ipv4":
		return "192.0.2.1"
	case "ipv6":
		return "2001:db8::1"
	}
	low, high := int(min(bound(s, "minLength", 0), 1<<16)), int(bound(s, "maxLength", 1<<16))
	if pattern, ok := s["pattern"].(string); ok {
		if text, ok := matching(pattern, low, high); ok {
			return text
		}
	}
	text := []string{"text", "a", "hello"}[a.src.IntN(3)]
	if len(text) < low {
		text += strings.Repeat("x", low-len(text))
	}
	return text[:min(len(text), max(high, 0))]
}

// matching returns the first of a few common shapes that fits the pattern.
func matching(pattern string, low, high int) (string, bool) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", false
	}
	for _, text := range []string{"text", "a", "A", "1", "abc123", "12345", "ABC", "a-b", "a_b", "a/b", "a.b", "1.0.0", "2025-06-18", "user@example.com", "https://example.com/", "#a0b1c2", "0123456789abcdef", "123e4567-e89b-42d3-a456-426614174000"} {
		if re.MatchString(text) && len(text) >= low && len(text) <= high {
			return text, true
		}
		if long := strings.Repeat(text, 1+low/len(text)); low > 0 && re.MatchString(long) && len(long) >= low && len(long) <= high {
			return long, true
		}
	}
	return "", false
}

func (a *argumentMaker) number(s map[string]any, whole bool) any {
	low, high := bound(s, "minimum", math.Inf(-1)), bound(s, "maximum", math.Inf(1))
	// Exclusive bounds are numbers, in draft-04 booleans beside the bound.
	openLow, _ := s["exclusiveMinimum"].(bool)
	openHigh, _ := s["exclusiveMaximum"].(bool)
	if x := bound(s, "exclusiveMinimum", math.Inf(-1)); x >= low && !math.IsInf(x, 0) {
		low, openLow = x, true
	}
	if x := bound(s, "exclusiveMaximum", math.Inf(1)); x <= high && !math.IsInf(x, 0) {
		high, openHigh = x, true
	}
	step := bound(s, "multipleOf", 0)
	if whole {
		step = max(step, 1)
	}
	off := step // how far inside of an open bound the value stays
	if step == 0 {
		off = min(1, (high-low)/4)
	}
	if openLow {
		low += off
	}
	if openHigh {
		high -= off
	}
	v := max(min(float64(1+a.src.IntN(3)), high), low)
	if step > 0 {
		if v = math.Ceil(v/step) * step; v > high {
			v = math.Floor(high/step) * step
		}
	}
	return number(v)
}

func number(v float64) json.Number {
	text, err := json.Marshal(v)
	if err != nil {
		return "0"
	}
	return json.Number(text)
}

// bound reads a number of the schema.
func bound(s map[string]any, key string, none float64) float64 {
	n, ok := s[key].(json.Number)
	if !ok {
		return none
	}
	v, err := n.Float64()
	if err != nil {
		return none
	}
	return v
}
