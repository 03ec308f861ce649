package fuzz

import (
	"strings"

	"github.com/tidwall/gjson"
)

// example makes an instance of the schema of a tool's arguments: the required
// members only. ok is false where the schema asks for what it cannot make; the
// tool is not called then, since invalid arguments are not sent unasked.
func example(schema gjson.Result) (n *node, ok bool) {
	return exampleValue(schema, 0)
}

// unmade are the keywords whose meaning example does not know.
var unmade = []string{"$ref", "$dynamicRef", "allOf", "not", "if", "pattern", "format", "contains", "dependentRequired", "dependentSchemas", "propertyNames", "minProperties", "multipleOf", "prefixItems", "uniqueItems", "dependencies"}

func exampleValue(schema gjson.Result, depth int) (*node, bool) {
	if depth > 8 || schema.Type == gjson.False {
		return nil, false
	}
	if schema.Type == gjson.True {
		return scalar("null"), true
	}
	if v := schema.Get("const"); v.Exists() {
		return treeOf(v), true
	}
	if v := schema.Get("enum.0"); v.Exists() {
		return treeOf(v), true
	}
	for _, k := range unmade {
		if schema.Get(strings.ReplaceAll(k, "$", `\$`)).Exists() {
			return nil, false
		}
	}
	for _, k := range []string{"anyOf.0", "oneOf.0"} {
		if v := schema.Get(k); v.Exists() {
			// A branch alone is enough only where nothing stands beside it.
			if schema.Get("properties").Exists() || schema.Get("type").Exists() || k == "oneOf.0" && schema.Get("oneOf.1").Exists() {
				return nil, false
			}
			return exampleValue(v, depth+1)
		}
	}
	if v := schema.Get("default"); v.Exists() {
		return treeOf(v), true
	}
	kind := schema.Get("type")
	if kind.IsArray() {
		kind = kind.Get("0")
	}
	switch kind.String() {
	case "object":
		return exampleObject(schema, depth)
	case "array":
		if schema.Get("minItems").Int() > 4 {
			return nil, false
		}
		n := &node{array: true}
		for range schema.Get("minItems").Int() {
			item, ok := exampleValue(schema.Get("items"), depth+1)
			if !ok {
				return nil, false
			}
			n.nested = append(n.nested, item)
		}
		return n, true
	case "string":
		return scalar(quote(strings.Repeat("a", max(1, int(min(schema.Get("minLength").Int(), 1000)))))), true
	case "integer", "number":
		return exampleNumber(schema)
	case "boolean":
		return scalar("true"), true
	case "null":
		return scalar("null"), true
	}
	return nil, false
}

func exampleObject(schema gjson.Result, depth int) (*node, bool) {
	n := &node{object: true}
	properties := schema.Get("properties")
	for _, name := range schema.Get("required").Array() {
		var property gjson.Result
		properties.ForEach(func(k, v gjson.Result) bool {
			if k.String() == name.String() {
				property = v
			}
			return !property.Exists()
		})
		if !property.Exists() {
			return nil, false
		}
		v, ok := exampleValue(property, depth+1)
		if !ok {
			return nil, false
		}
		n.insert(len(n.nested), quote(name.String()), v)
	}
	return n, true
}

// exampleNumber returns 1 or the bound next to it.
func exampleNumber(schema gjson.Result) (*node, bool) {
	least, most := schema.Get("minimum"), schema.Get("maximum")
	if schema.Get("exclusiveMinimum").Exists() || schema.Get("exclusiveMaximum").Exists() {
		return nil, false
	}
	switch {
	case least.Exists() && least.Float() > 1:
		return scalar(least.Raw), true
	case most.Exists() && most.Float() < 1:
		return scalar(most.Raw), true
	}
	return scalar("1"), true
}
