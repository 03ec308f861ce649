package headers

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// An annotation is one x-mcp-header of the inputSchema of a tool.
type annotation struct {
	tool     transcript.ListEntry
	value    gjson.Result
	schema   gjson.Result // the schema that it is a member of
	pointer  string       // the keywords and names that lead to it
	offChain string       // the first of these that is no property; "" for none
}

// fail reports a problem of the annotation.
func (a annotation) fail(j *check.J, format string, args ...any) {
	j.Fail(a.tool.Answer, "%s: the annotation at %s %s",
		transcript.ToolLabel(a.tool.Item), a.pointer, fmt.Sprintf(format, args...))
}

// schemaValues returns the numbers that the schema gives as values.
func (a annotation) schemaValues() []gjson.Result {
	all := slices.Concat(a.schema.Get("enum").Array(), a.schema.Get("examples").Array(),
		[]gjson.Result{a.schema.Get("default"), a.schema.Get("const")})
	return transcript.Filter(all, func(v gjson.Result) bool { return v.Type == gjson.Number })
}

// annotations returns the annotations of all tools that are listed.
func annotations(j *check.J) []annotation {
	return check.Derived(j, "annotations x-mcp-header", func() (all []annotation) {
		for _, tool := range transcript.Tools(j) {
			all = append(all, annotationsOf(tool)...)
		}
		return all
	})
}

// annotationsOf returns the annotations of a tool.
func annotationsOf(tool transcript.ListEntry) []annotation {
	w := &schemaWalk{tool: tool}
	if schema := tool.Item.Get("inputSchema"); schema.IsObject() {
		w.walk(schema, "", "")
	}
	return w.found
}

// A schemaWalk visits the schemas within an inputSchema. It does not visit values,
// such as a default.
type schemaWalk struct {
	tool  transcript.ListEntry
	found []annotation
}

// walk visits a schema and those within it.
func (w *schemaWalk) walk(schema gjson.Result, pointer, offChain string) {
	schema.ForEach(func(keyword, v gjson.Result) bool {
		k := keyword.String()
		inner := offChain
		if inner == "" && k != "properties" {
			inner = k
		}
		switch {
		case k == "x-mcp-header":
			if pointer == "" {
				offChain = "the root itself"
			}
			w.found = append(w.found, annotation{w.tool, v, schema, pointer + "/" + k, offChain})
		case mapsToSchemas(k) && v.IsObject():
			v.ForEach(func(name, s gjson.Result) bool {
				if s.IsObject() {
					w.walk(s, pointer+"/"+k+"/"+wire.Clip(name.String(), 80), inner)
				}
				return true
			})
		case holdsSchemas(k):
			for _, s := range v.Array() { // Array returns an object as its only element
				if s.IsObject() {
					w.walk(s, pointer+"/"+k, inner)
				}
			}
		}
		return true
	})
}

// mapsToSchemas reports whether the value of a keyword maps names to schemas.
func mapsToSchemas(keyword string) bool {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return true
	}
	return false
}

// holdsSchemas reports whether the value of a keyword is a schema or an array of
// schemas.
func holdsSchemas(keyword string) bool {
	switch keyword {
	case "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems",
		"additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
		"oneOf", "anyOf", "allOf", "not", "if", "then", "else":
		return true
	}
	return false
}

func isControl(c rune) bool { return c < 0x20 || c == 0x7f }

// isUnsafeInteger reports whether JavaScript may not represent a number exactly.
func isUnsafeInteger(v gjson.Result) bool {
	n, _, err := big.ParseFloat(v.Raw, 10, 128, big.ToNearestEven)
	return err == nil && n.Abs(n).Cmp(big.NewFloat(1<<53-1)) > 0
}
