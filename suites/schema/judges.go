package schema

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

// shapeJudges are the judges of basic/index#json-schema-usage, since
// 2025-11-25: which dialect the schemas of tools and forms are written in. That
// the schemas of tools are valid is judged with the tools.
func shapeJudges() []check.Check {
	return []check.Check{
		{
			ID:    "schema.dialect.recommended",
			Says:  "schemas are written in JSON Schema 2020-12",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-dialect-2020-12-recommended"},
			Judge: func(j *check.J) {
				for _, member := range []string{"inputSchema", "outputSchema", "requestedSchema"} {
					transcript.EachMember(j, member, func(m transcript.Member) {
						dialect := wire.Member(m.Value, "$schema")
						switch {
						case !m.Value.IsObject() || dialect.Exists() && dialect.Type != gjson.String:
						case dialect.Exists() && !names2020(dialect.Str):
							j.Fail(m.Entry, "%s: %s/$schema is %q", m.Name, m.Path, wire.Clip(dialect.Str, 80))
						default:
							j.Saw()
						}
					})
				}
			},
		},
		{
			ID:    "schema.dialect.valid",
			Says:  "the schema that a form is asked by is valid under the dialect that it names, or 2020-12",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-valid-for-dialect"},
			// requestedSchemaValid leaves alone what cannot be judged: unknown dialects,
			// and patterns that only other engines read.
			Judge: func(j *check.J) {
				transcript.EachMember(j, "requestedSchema", func(m transcript.Member) {
					if !m.Value.IsObject() {
						return
					}
					_, err := schema.CompileTool([]byte(m.Value.Raw))
					var invalid *schema.InvalidSchemaError
					switch {
					case err == nil:
						j.Saw()
					case errors.As(err, &invalid):
						j.Fail(m.Entry, "%s: %s is no valid schema: %s", m.Name, m.Path, invalid.Violations[0])
					}
				})
			},
		},
	}
}

// names2020 overlooks the scheme and an empty fragment, in which spellings of
// the one URI differ.
func names2020(uri string) bool {
	_, rest, _ := strings.Cut(uri, "://")
	return strings.TrimSuffix(rest, "#") == "json-schema.org/draft/2020-12/schema"
}
