package headers

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// Why several judges are not observed, and what helps.
const (
	noAnnotation     = "no tool has an x-mcp-header"
	annotateArgument = "offer a tool with x-mcp-header in its inputSchema"
)

// judges returns the judges of the annotations x-mcp-header
// (basic/transports/streamable-http#schema-extension). They are in the definitions of
// tools, over whatever transport these are listed.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "headers.annotation.empty",
			Says:  "the value of x-mcp-header is not empty",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-name-nonempty"},
			Idle:  noAnnotation,
			Hint:  annotateArgument,
			Judge: func(j *check.J) {
				check.Each(j, annotations(j), func(a annotation) bool {
					if a.value.Type == gjson.String && a.value.Str == "" {
						a.fail(j, "is empty")
					}
					return a.value.Type == gjson.String
				})
			},
		},
		{
			ID:    "headers.annotation.control",
			Says:  "the value of x-mcp-header has no control characters",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-name-no-control"},
			Idle:  noAnnotation,
			Hint:  annotateArgument,
			Judge: func(j *check.J) {
				check.Each(j, annotations(j), func(a annotation) bool {
					if a.value.Type == gjson.String && strings.ContainsFunc(a.value.Str, isControl) {
						a.fail(j, "has a control character: %s", wire.Clip(a.value.Raw, 80))
					}
					return a.value.Type == gjson.String
				})
			},
		},
		{
			ID:    "headers.annotation.token",
			Says:  "the value of x-mcp-header is a valid name of a header field",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-name-token"},
			Idle:  noAnnotation,
			Hint:  annotateArgument,
			// Other judges judge empty values and those with control characters.
			Judge: func(j *check.J) {
				check.Each(j, annotations(j), func(a annotation) bool {
					switch v := a.value; {
					case v.Type != gjson.String:
						a.fail(j, "is %s, not the name of a header field", wire.TypeName(v))
					case v.Str == "" || strings.ContainsFunc(v.Str, isControl):
						return false
					case !transport.IsToken(v.Str):
						a.fail(j, "is no name of a header field: %s", wire.Clip(v.Raw, 80))
					}
					return true
				})
			},
		},
		{
			ID:    "headers.annotation.unique",
			Says:  "no two arguments of a tool have the same x-mcp-header, ignoring case",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-name-unique"},
			Idle:  noAnnotation,
			Hint:  annotateArgument,
			// headers.annotation.reachable judges annotations off the chain of properties.
			Judge: func(j *check.J) {
				check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) (subject bool) {
					pointers := map[string]string{} // of the annotations, by name in lower case
					for _, a := range annotationsOf(l) {
						if a.value.Type != gjson.String || a.value.Str == "" || a.offChain != "" {
							continue
						}
						name := strings.ToLower(a.value.Str)
						if other, repeated := pointers[name]; repeated {
							a.fail(j, "has the name of the annotation at %s: %s", other, wire.Clip(a.value.Raw, 80))
						}
						pointers[name], subject = a.pointer, true
					}
					return subject
				})
			},
		},
		{
			ID:    "headers.annotation.type",
			Says:  "x-mcp-header annotates strings, integers and booleans",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-primitive-only"},
			Idle:  "no argument with a type has an x-mcp-header",
			Hint:  "give a type to the argument that has x-mcp-header",
			// Neither null beside another type nor a schema without type is judged.
			Judge: func(j *check.J) {
				check.Each(j, annotations(j), func(a annotation) bool {
					if a.offChain != "" {
						return false
					}
					primitive := false
					for _, kind := range a.schema.Get("type").Array() {
						switch kind.String() {
						case "number", "object", "array":
							a.fail(j, "is on the type %s", wire.Clip(a.schema.Get("type").Raw, 80))
							return true
						case "integer", "string", "boolean":
							primitive = true
						}
					}
					return primitive
				})
			},
		},
		{
			ID:    "headers.annotation.range",
			Says:  "the values in the schema of an integer with x-mcp-header are within plus or minus 2^53-1",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-integer-range"},
			Idle:  "no integer with an x-mcp-header has a value in its schema",
			Hint:  "give a default, enum or const to an integer argument that has x-mcp-header",
			// JavaScript represents these values exactly. Bounds that allow larger ones are
			// noted: a schema without bounds allows them too.
			Judge: func(j *check.J) {
				check.Each(j, annotations(j), func(a annotation) (subject bool) {
					if a.offChain != "" || a.schema.Get("type").String() != "integer" {
						return false
					}
					for _, v := range a.schemaValues() {
						if isUnsafeInteger(v) {
							a.fail(j, "is on an integer whose schema has the value %s, which is beyond 2^53-1", v.Raw)
						}
						subject = true
					}
					for _, bound := range []string{"minimum", "maximum"} {
						if v := a.schema.Get(bound); v.Type == gjson.Number && isUnsafeInteger(v) {
							j.Note("%s: the %s of the integer with the annotation at %s is %s, beyond 2^53-1",
								transcript.ToolLabel(a.tool.Item), bound, a.pointer, v.Raw)
						}
					}
					return subject
				})
			},
		},
		{
			ID:    "headers.annotation.reachable",
			Says:  "an x-mcp-header is reached from the root of the schema through properties alone",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"headers-mcp-param-statically-reachable", "headers-mcp-param-chain-properties-only"},
			Idle:  noAnnotation,
			Hint:  annotateArgument,
			// The root is no property.
			Judge: func(j *check.J) {
				check.Each(j, annotations(j), func(a annotation) bool {
					if a.offChain != "" {
						a.fail(j, "is not reached through properties alone, but through %s", a.offChain)
					}
					return true
				})
			},
		},
	}
}
