package tools

import (
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// closedInput and closedOutput are the revisions in which schema.ts#Tool spells
// out properties and required of the schemas of a tool. There the members have
// a judge of their own and the judge of the meta-schema leaves them to it.
const (
	closedInput  = spec.Handshake
	closedOutput = spec.Handshake
)

// schemaJudges are the judges of inputSchema and outputSchema
// (server/tools#tool, basic/index#json-schema-usage since 2025-11-25).
func schemaJudges() []check.Check {
	return []check.Check{
		{
			ID:    "tools.input-schema.object",
			Says:  "the inputSchema of a tool is an object whose type is object",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-input-schema-object"},
			Judge: func(j *check.J) {
				transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
					if why := notRootedInObject(tool.Get("inputSchema")); why != "" {
						j.Fail(e, "%s: its inputSchema %s", transcript.ToolLabel(tool), why)
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "tools.input-schema.members",
			Says:  "properties of an inputSchema maps names to objects and required is an array of strings",
			Level: spec.Must,
			In:    closedInput,
			Rules: []string{"tools-input-schema-members"},
			Judge: func(j *check.J) {
				transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
					s := tool.Get("inputSchema")
					if !s.Get("properties").Exists() && !s.Get("required").Exists() {
						return
					}
					if why := illTypedMembers(s); why != "" {
						j.Fail(e, "%s: in its inputSchema %s", transcript.ToolLabel(tool), why)
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "tools.input-schema.valid",
			Says:  "an inputSchema is valid under the dialect that it names, or 2020-12",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"tools-input-schema-valid"},
			Judge: func(j *check.J) { schemaValid(j, "inputSchema", schema.CompileTool) },
		},
		{
			ID:    "tools.input-schema.valid.advised",
			Says:  "an inputSchema is valid under some dialect of JSON Schema",
			Level: spec.Should,
			In:    spec.Until(spec.V2025_06_18),
			Rules: []string{"tools-input-schema-valid"},
			Judge: func(j *check.J) { schemaValid(j, "inputSchema", schema.CompileToolAnyDialect) },
		},
		{
			ID:    "tools.output-schema.object",
			Says:  "the outputSchema of a tool is an object, up to 2025-11-25 one whose type is object",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"tools-output-schema-object"},
			// outputSchemaObject: the root may be of any type where structured results
			// are not bound to objects.
			Judge: func(j *check.J) {
				transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
					s := tool.Get("outputSchema")
					if !s.Exists() {
						return
					}
					why := ""
					switch {
					case !closedOutput.Has(j.Rev) && !s.IsObject():
						why = "is " + wire.TypeName(s) + ", not an object"
					case closedOutput.Has(j.Rev):
						if why = notRootedInObject(s); why == "" {
							why = illTypedMembers(s)
						}
					}
					if why != "" {
						j.Fail(e, "%s: its outputSchema: %s", transcript.ToolLabel(tool), why)
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "tools.output-schema.valid",
			Says:  "an outputSchema is valid under the dialect that it names, or 2020-12",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"tools-output-schema-valid"},
			Judge: func(j *check.J) { schemaValid(j, "outputSchema", schema.CompileTool) },
		},
		{
			ID:    "tools.output-schema.valid.advised",
			Says:  "an outputSchema is valid under some dialect of JSON Schema",
			Level: spec.Should,
			In:    spec.Only(spec.V2025_06_18),
			Rules: []string{"tools-output-schema-valid"},
			Judge: func(j *check.J) { schemaValid(j, "outputSchema", schema.CompileToolAnyDialect) },
		},
	}
}

// notRootedInObject tells why a value is no schema whose type is object.
func notRootedInObject(s gjson.Result) string {
	kind := s.Get("type")
	switch {
	case !s.Exists():
		return "is missing"
	case !s.IsObject():
		return "is " + wire.TypeName(s) + ", not an object"
	case kind.Type != gjson.String || kind.Str != "object":
		if !kind.Exists() {
			return `has no type, which must be "object"`
		}
		return `has the type ` + wire.Clip(kind.Raw, 80) + `, not "object"`
	}
	return ""
}

// illTypedMembers tells what is wrong with properties and required of a schema.
func illTypedMembers(s gjson.Result) (why string) {
	properties, required := s.Get("properties"), s.Get("required")
	if properties.Exists() && !properties.IsObject() {
		return "properties is " + wire.TypeName(properties) + ", not an object"
	}
	properties.ForEach(func(name, v gjson.Result) bool {
		if !v.IsObject() {
			why = "the property " + wire.Clip(name.Raw, 80) + " is " + wire.TypeName(v) + ", not an object"
		}
		return why == ""
	})
	if why != "" || !required.Exists() {
		return why
	}
	if !required.IsArray() {
		return "required is " + wire.TypeName(required) + ", not an array"
	}
	for _, name := range required.Array() {
		if name.Type != gjson.String {
			return "required holds " + wire.TypeName(name) + ", not only strings"
		}
	}
	return ""
}

// schemaValid holds a schema against the meta-schema of its dialect. Dialects
// that are not known, references that lead out of the schema and patterns that
// only other engines read are not judged.
func schemaValid(j *check.J, member string, compile func([]byte) (*schema.ToolSchema, error)) {

	known := map[string]error{}
	transcript.EachTool(j, func(e wire.Entry, tool gjson.Result) {
		s := tool.Get(member)
		if !s.IsObject() {
			return
		}
		err, ok := known[s.Raw]
		if !ok {
			_, err = compile([]byte(s.Raw))
			known[s.Raw] = err
		}
		if err == nil {
			j.Saw()
			return
		}
		var invalid *schema.InvalidSchemaError
		if !errors.As(err, &invalid) {
			return
		}
		for _, v := range invalid.Violations {
			if !judgedApart(j, member, v) {
				j.Fail(e, "%s: its %s is no valid schema: %s", transcript.ToolLabel(tool), member, v)
				return
			}
		}
	})

}

// judgedApart tells whether a violation of the meta-schema is the subject of
// the judges of the root and its members, so that one cause is one failure.
func judgedApart(j *check.J, member string, v schema.Violation) bool {
	closed := closedInput
	if member == "outputSchema" {
		closed = closedOutput
	}
	switch at := v.InstancePath; {
	case at == "/type":
		return member == "inputSchema" || closed.Has(j.Rev)
	case at == "/properties", at == "/required", strings.HasPrefix(at, "/required/") && v.Keyword == "type":
		return closed.Has(j.Rev) && v.Keyword == "type"
	case strings.HasPrefix(at, "/properties/") && strings.Count(at, "/") == 2:
		return closed.Has(j.Rev) && v.Keyword == "type"
	}
	return false
}
