package headers

import (
	"math/big"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of the annotations x-mcp-header, since 2026-07-28
// (basic/transports/streamable-http#schema-extension). They stand in the
// definitions of tools, whichever transport these are listed over.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "headers.annotation.empty",
			Says:  "x-mcp-header names a header",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-name-nonempty"},
			Judge: func(j *check.J) { eachAnnotation(j, annotationEmpty) },
		},
		{
			ID:    "headers.annotation.control",
			Says:  "x-mcp-header holds no control characters",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-name-no-control"},
			Judge: func(j *check.J) { eachAnnotation(j, annotationControl) },
		},
		{
			ID:    "headers.annotation.token",
			Says:  "x-mcp-header is what the name of a header field may be",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-name-token"},
			Judge: func(j *check.J) { eachAnnotation(j, annotationToken) },
		},
		{
			ID:    "headers.annotation.unique",
			Says:  "no two arguments of a tool share an x-mcp-header, in whatever case",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-name-unique"},
			// annotationUnique leaves annotations where none may stand to the judge of that.
			Judge: func(j *check.J) {
				transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
					seen := map[string]string{}
					for _, a := range mirroredBy(tool.Get("inputSchema")) {
						if a.value.Type != gjson.String || a.value.Str == "" || a.by != "" {
							continue
						}
						name := strings.ToLower(a.value.Str)
						if first, twice := seen[name]; twice {
							j.Fail(e, "%s: %s stands at %s and at %s", transcript.ToolLabel(tool), wire.Clip(a.value.Raw, 80), first, a.at)
						} else {
							j.Saw()
						}
						seen[name] = a.at
					}
				})
			},
		},
		{
			ID:    "headers.annotation.type",
			Says:  "x-mcp-header stands on strings, integers and booleans",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-primitive-only"},
			Judge: func(j *check.J) { eachAnnotation(j, annotationType) },
		},
		{
			ID:    "headers.annotation.range",
			Says:  "the values that the schema gives for an integer with x-mcp-header are those that JavaScript holds exactly",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-integer-range"},
			// annotationRange judges the values that a schema states. Bounds that let more
			// in are noted: a schema without bounds lets it in too.
			Judge: func(j *check.J) {
				transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
					for _, a := range mirroredBy(tool.Get("inputSchema")) {
						if a.by != "" || a.on.Get("type").String() != "integer" {
							continue
						}
						values := append(a.on.Get("enum").Array(), a.on.Get("examples").Array()...)
						for _, v := range append(values, a.on.Get("default"), a.on.Get("const")) {
							switch {
							case v.Type != gjson.Number:
							case unsafe(v):
								j.Fail(e, "%s: of the integer with the annotation at %s the schema gives the value %s, which is beyond 2^53-1", transcript.ToolLabel(tool), a.at, v.Raw)
							default:
								j.Saw()
							}
						}
						for _, bound := range []string{"minimum", "maximum"} {
							if v := a.on.Get(bound); v.Type == gjson.Number && unsafe(v) {
								j.Note("%s: the %s of the integer with the annotation at %s is %s, beyond 2^53-1", transcript.ToolLabel(tool), bound, a.at, v.Raw)
							}
						}
					}
				})
			},
		},
		{
			ID:    "headers.annotation.reachable",
			Says:  "a chain of properties alone leads to an x-mcp-header",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-statically-reachable", "headers-mcp-param-chain-properties-only"},
			Judge: func(j *check.J) { eachAnnotation(j, annotationReachable) },
		},
	}
}

// A mirrored is one x-mcp-header of an inputSchema.
type mirrored struct {
	value gjson.Result
	on    gjson.Result // the schema that it stands in
	at    string       // the way there, as keywords and names
	by    string       // the keyword that leads off the chain of properties; "" for none
}

// mirroredBy returns those of a schema. What stands in values, such as a
// default, is none.
func mirroredBy(schema gjson.Result) (all []mirrored) {
	var walk func(s gjson.Result, at, by string)
	walk = func(s gjson.Result, at, by string) {
		s.ForEach(func(keyword, v gjson.Result) bool {
			k := keyword.String()
			off := by
			if off == "" && k != "properties" {
				off = k
			}
			switch {
			case k == "x-mcp-header":
				if at == "" {
					by = "the root itself"
				}
				all = append(all, mirrored{v, s, at + "/" + k, by})
			case schemasByName(k) && v.IsObject():
				v.ForEach(func(name, inner gjson.Result) bool {
					if inner.IsObject() {
						walk(inner, at+"/"+k+"/"+wire.Clip(name.String(), 80), off)
					}
					return true
				})
			case schemasWithin(k):
				for _, inner := range v.Array() { // an object is the one element of its own
					if inner.IsObject() {
						walk(inner, at+"/"+k, off)
					}
				}
			}
			return true
		})
	}
	if schema.IsObject() {
		walk(schema, "", "")
	}
	return all
}

// schemasByName tells whether the value of a keyword maps names to schemas.
func schemasByName(keyword string) bool {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return true
	}
	return false
}

// schemasWithin tells whether the value of a keyword is a schema, or an array
// of them.
func schemasWithin(keyword string) bool {
	switch keyword {
	case "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems", "additionalProperties", "unevaluatedProperties",
		"propertyNames", "oneOf", "anyOf", "allOf", "not", "if", "then", "else", "contentSchema":
		return true
	}
	return false
}

// eachAnnotation has every annotation of the tools that are listed looked at;
// why tells what is wrong with it, subject whether the rule is about it at all.
func eachAnnotation(j *check.J, look func(a mirrored) (why string, subject bool)) {

	transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
		for _, a := range mirroredBy(tool.Get("inputSchema")) {
			switch why, subject := look(a); {
			case why != "":
				j.Fail(e, "%s: the annotation at %s %s", transcript.ToolLabel(tool), a.at, why)
			case subject:
				j.Saw()
			}
		}
	})

}

func annotationEmpty(a mirrored) (string, bool) {
	if a.value.Type == gjson.String && a.value.Str == "" {
		return "is empty", true
	}
	return "", a.value.Type == gjson.String
}

func annotationControl(a mirrored) (string, bool) {
	if a.value.Type == gjson.String && strings.ContainsFunc(a.value.Str, isControl) {
		return "holds a control character: " + wire.Clip(a.value.Raw, 80), true
	}
	return "", a.value.Type == gjson.String
}

func isControl(c rune) bool { return c < 0x20 || c == 0x7f }

// annotationToken leaves what is empty, or holds control characters, to the
// judges of these.
func annotationToken(a mirrored) (string, bool) {
	switch v := a.value; {
	case v.Type != gjson.String:
		return "is " + wire.TypeName(v) + ", not the name of a header field", true
	case v.Str == "" || strings.ContainsFunc(v.Str, isControl):
		return "", false
	case !transport.IsToken(v.Str):
		return "is no name of a header field: " + wire.Clip(v.Raw, 80), true
	}
	return "", true
}

// annotationType does not judge null beside a type, nor a schema without any.
func annotationType(a mirrored) (string, bool) {
	if a.by != "" {
		return "", false
	}
	kinds, primitive := a.on.Get("type").Array(), false
	for _, kind := range kinds {
		switch kind.String() {
		case "number", "object", "array":
			return "stands on the type " + wire.Clip(a.on.Get("type").Raw, 80), true
		case "integer", "string", "boolean":
			primitive = true
		}
	}
	return "", primitive
}

// annotationReachable takes an annotation of the root for one that stands on no
// property.
func annotationReachable(a mirrored) (string, bool) {
	if a.by != "" {
		return "is not reached by properties alone, but through " + a.by, true
	}
	return "", true
}

// unsafe tells whether a number is beyond what JavaScript holds exactly.
func unsafe(v gjson.Result) bool {
	n, _, err := big.ParseFloat(v.Raw, 10, 128, big.ToNearestEven)
	return err == nil && n.Abs(n).Cmp(big.NewFloat(1<<53-1)) > 0
}
