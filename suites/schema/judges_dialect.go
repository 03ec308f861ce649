package schema

import (
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// dialectJudges returns the judges of basic/index#json-schema-usage, since 2025-11-25:
// in which dialect the schemas of tools and forms are written. Other checks judge that
// the schemas of tools are valid.
func dialectJudges() []check.Check {
	return []check.Check{
		{
			ID:    "schema.dialect.recommended",
			Says:  "schemas are written in JSON Schema 2020-12",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-dialect-2020-12-recommended"},
			Idle:  "the server sent no schema",
			Hint:  "offer a tool",
			Judge: func(j *check.J) {
				schemas := slices.Concat(transcript.Members(j, "inputSchema"),
					transcript.Members(j, "outputSchema"), transcript.Members(j, "requestedSchema"))
				check.Each(j, schemas, func(m transcript.Member) bool {
					dialect := wire.Member(m.Value, "$schema")
					if !m.Value.IsObject() || dialect.Exists() && dialect.Type != gjson.String {
						return false
					}
					if dialect.Exists() && !names2020(dialect.Str) {
						j.Fail(m.Entry, "%s: %s/$schema is %q", m.Name, m.Path, wire.Clip(dialect.Str, 80))
					}
					return true
				})
			},
		},
		{
			ID:    "schema.dialect.valid",
			Says:  "the schema of a form is valid under the dialect that it names, or 2020-12",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-valid-for-dialect"},
			Idle:  "the server asked for no form",
			Hint:  "offer a read-only tool that elicits a form" + check.OrAllow,
			// Unknown dialects and patterns that only other regular expression engines read
			// cannot be judged.
			Judge: func(j *check.J) {
				check.Each(j, transcript.Members(j, "requestedSchema"), func(m transcript.Member) bool {
					if !m.Value.IsObject() {
						return false
					}
					_, err := schema.CompileTool([]byte(m.Value.Raw))
					var invalid *schema.InvalidSchemaError
					isInvalid := errors.As(err, &invalid)
					if isInvalid {
						j.Fail(m.Entry, "%s: %s is no valid schema: %s", m.Name, m.Path, invalid.Violations[0])
					}
					return err == nil || isInvalid
				})
			},
		},
	}
}

// names2020 reports whether a URI names JSON Schema 2020-12, in any spelling: its scheme
// and an empty fragment do not count.
func names2020(uri string) bool {
	_, rest, _ := strings.Cut(uri, "://")
	return strings.TrimSuffix(rest, "#") == "json-schema.org/draft/2020-12/schema"
}
