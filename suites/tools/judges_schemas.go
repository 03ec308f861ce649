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

// typedMembers are the revisions in which schema.ts#Tool gives the types of properties
// and required in the schemas of a tool. There a judge of its own judges these members,
// and the judge of the meta-schema leaves them to it.
const typedMembers = spec.Handshake

// Why the judges of schemas are not observed, and what helps.
const (
	noOutputSchema    = "no tool has an outputSchema"
	offerOutputSchema = "offer a tool with an outputSchema"
	noKnownDialect    = "no tool has an inputSchema whose dialect is known"
)

// judgesOfSchemas returns the judges of inputSchema and outputSchema
// (server/tools#tool, basic/index#json-schema-usage since 2025-11-25).
func judgesOfSchemas() []check.Check {
	return []check.Check{
		{
			ID:    "tools.input-schema.object",
			Says:  "the inputSchema of a tool is an object whose type is object",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-input-schema-object"},
			Idle:  noListed,
			Hint:  offerTool,
			Judge: func(j *check.J) {
				check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) bool {
					if problem := rootProblem(l.Item.Get("inputSchema")); problem != "" {
						j.Fail(l.Answer, "%s: its inputSchema %s", transcript.ToolLabel(l.Item), problem)
					}
					return true
				})
			},
		},
		{
			ID:    "tools.input-schema.members",
			Says:  "in an inputSchema, properties maps names to objects and required is an array of strings",
			Level: spec.Must,
			In:    typedMembers,
			Rules: []string{"tools-input-schema-members"},
			Idle:  "no tool has an inputSchema with properties or required",
			Hint:  "offer a tool with arguments",
			Judge: func(j *check.J) {
				check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) bool {
					input := l.Item.Get("inputSchema")
					if problem := membersProblem(input); problem != "" {
						j.Fail(l.Answer, "%s: in its inputSchema %s", transcript.ToolLabel(l.Item), problem)
					}
					return input.Get("properties").Exists() || input.Get("required").Exists()
				})
			},
		},
		{
			ID:    "tools.input-schema.valid",
			Says:  "an inputSchema is valid in the dialect that it names, or in 2020-12",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"tools-input-schema-valid"},
			Idle:  noKnownDialect,
			Hint:  "list a tool whose inputSchema names a dialect of JSON Schema, or none",
			Judge: func(j *check.J) { judgeSchemas(j, "inputSchema", schema.CompileTool) },
		},
		{
			ID:    "tools.input-schema.valid.advised",
			Says:  "an inputSchema is valid in some dialect of JSON Schema",
			Level: spec.Should,
			In:    spec.Until(spec.V2025_06_18),
			Rules: []string{"tools-input-schema-valid"},
			Idle:  noKnownDialect,
			Hint:  "list a tool whose inputSchema names a dialect of JSON Schema, or none",
			Judge: func(j *check.J) { judgeSchemas(j, "inputSchema", schema.CompileToolAnyDialect) },
		},
		{
			ID: "tools.input-schema.references",
			Says: "each $ref in an inputSchema is to a place that it has: clients cannot validate or show arguments" +
				" by what is not there",
			Level: spec.Robust,
			In:    spec.Every,
			Spec:  "server/tools#tool",
			Idle:  noKnownDialect,
			Hint:  offerTool,
			Judge: func(j *check.J) { judgeReferences(j, "inputSchema") },
		},
		{
			ID: "tools.output-schema.references",
			Says: "each $ref in an outputSchema is to a place that it has: clients cannot validate results by what" +
				" is not there",
			Level: spec.Robust,
			In:    spec.Since(spec.V2025_06_18),
			Spec:  "server/tools#output-schema",
			Idle:  noOutputSchema,
			Hint:  offerOutputSchema,
			Judge: func(j *check.J) { judgeReferences(j, "outputSchema") },
		},
		{
			ID:    "tools.output-schema.object",
			Says:  "the outputSchema of a tool is an object; up to 2025-11-25 its type is object",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"tools-output-schema-object"},
			Idle:  noOutputSchema,
			Hint:  offerOutputSchema,
			Judge: func(j *check.J) {
				check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) bool {
					output := l.Item.Get("outputSchema")
					if !output.Exists() {
						return false
					}
					if problem := outputProblem(j.Rev, output); problem != "" {
						j.Fail(l.Answer, "%s: its outputSchema: %s", transcript.ToolLabel(l.Item), problem)
					}
					return true
				})
			},
		},
		{
			ID:    "tools.output-schema.valid",
			Says:  "an outputSchema is valid in the dialect that it names, or in 2020-12",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"tools-output-schema-valid"},
			Idle:  noOutputSchema,
			Hint:  offerOutputSchema,
			Judge: func(j *check.J) { judgeSchemas(j, "outputSchema", schema.CompileTool) },
		},
		{
			ID:    "tools.output-schema.valid.advised",
			Says:  "an outputSchema is valid in some dialect of JSON Schema",
			Level: spec.Should,
			In:    spec.Only(spec.V2025_06_18),
			Rules: []string{"tools-output-schema-valid"},
			Idle:  noOutputSchema,
			Hint:  offerOutputSchema,
			Judge: func(j *check.J) { judgeSchemas(j, "outputSchema", schema.CompileToolAnyDialect) },
		},
	}
}

// rootProblem returns why a value is not a schema whose type is object, or "".
func rootProblem(s gjson.Result) string {
	kind := s.Get("type")
	switch {
	case !s.Exists():
		return "is missing"
	case !s.IsObject():
		return "is " + wire.TypeName(s) + ", not an object"
	case !kind.Exists():
		return `has no type, which must be "object"`
	case kind.Type != gjson.String || kind.Str != "object":
		return `has the type ` + wire.Clip(kind.Raw, 80) + `, not "object"`
	}
	return ""
}

// outputProblem returns why a value is not an outputSchema, or "". Where structured
// results may be any value, the root may have any type.
func outputProblem(rev spec.Revision, s gjson.Result) string {
	if !typedMembers.Has(rev) {
		if !s.IsObject() {
			return "is " + wire.TypeName(s) + ", not an object"
		}
		return ""
	}
	if problem := rootProblem(s); problem != "" {
		return problem
	}
	return membersProblem(s)
}

// membersProblem returns what is wrong with properties and required of a schema, or "".
func membersProblem(s gjson.Result) (problem string) {
	properties, required := s.Get("properties"), s.Get("required")
	if properties.Exists() && !properties.IsObject() {
		return "properties is " + wire.TypeName(properties) + ", not an object"
	}
	properties.ForEach(func(name, v gjson.Result) bool {
		if !v.IsObject() {
			problem = "the property " + wire.Clip(name.Raw, 80) + " is " + wire.TypeName(v) + ", not an object"
		}
		return problem == ""
	})
	if problem != "" || !required.Exists() {
		return problem
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

// judgeSchemas judges the schemas in a member of tools by the meta-schema of their
// dialect. It does not judge unknown dialects, references that lead out of the schema
// and patterns that only other engines read.
func judgeSchemas(j *check.J, member string, compile func([]byte) (*schema.ToolSchema, error)) {
	errs := map[string]error{} // of schemas that were compiled
	check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) bool {
		s := l.Item.Get(member)
		if !s.IsObject() {
			return false
		}
		err, known := errs[s.Raw]
		if !known {
			_, err = compile([]byte(s.Raw))
			errs[s.Raw] = err
		}
		var invalid *schema.InvalidSchemaError
		if !errors.As(err, &invalid) {
			return err == nil
		}
		for _, v := range invalid.Violations {
			if !hasOwnJudge(j, member, v) {
				j.Fail(l.Answer, "%s: its %s is not a valid schema: %s", transcript.ToolLabel(l.Item), member, v)
				return true
			}
		}
		return false
	})
}

// judgeReferences judges the references of a schema of each tool that are to places in it.
// Whether a reference to another document can be resolved depends on the client.
func judgeReferences(j *check.J, member string) {
	check.Each(j, transcript.Tools(j), func(l transcript.ListEntry) bool {
		s := l.Item.Get(member)
		if !s.IsObject() {
			return false
		}
		_, err := schema.CompileTool([]byte(s.Raw))
		var dangling *schema.UnresolvedRefError
		if errors.As(err, &dangling) && dangling.Local {
			j.Fail(l.Answer, "%s: its %s has a %v", transcript.ToolLabel(l.Item), member, err)
		}
		return err == nil || dangling != nil && dangling.Local
	})
}

// hasOwnJudge reports whether the judges of the root of a schema and its members judge
// a violation of the meta-schema: one cause is one failure.
func hasOwnJudge(j *check.J, member string, v schema.Violation) bool {
	typed := typedMembers.Has(j.Rev)
	switch at := v.InstancePath; {
	case at == "/type":
		return member == "inputSchema" || typed
	case at == "/properties", at == "/required", strings.HasPrefix(at, "/required/") && v.Keyword == "type":
		return typed && v.Keyword == "type"
	case strings.HasPrefix(at, "/properties/") && strings.Count(at, "/") == 2:
		return typed && v.Keyword == "type"
	}
	return false
}
