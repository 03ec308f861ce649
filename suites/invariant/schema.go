package invariant

import (
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A page is what the messages of a page of the specification are held against:
// the definitions that are its own, and of these the places that other checks
// judge.
type page struct {
	definitions []string
	elsewhere   []string // JSON pointers; see within
}

func (p page) judge(j *check.J) {
	for _, def := range p.definitions {
		eachHeld(j, def, func(h held) {
			for _, v := range h.broken {
				if !within(v.Place(), everywhere) && !within(v.Place(), p.elsewhere) {
					j.Fail(h.Entry, "%s is no %s of %s: %s", h.name, v.Definition, j.Rev, v)
					return
				}
			}
			j.Saw()
		})
	}
}

// everywhere are the places of any definition that have checks of their own.
var everywhere = []string{
	"/jsonrpc", "/id", "/method", // jsonrpc.*
	"/resultType",         // jsonrpc.result-type.*
	"**/_meta/**",         // schema.meta.*
	"**/annotations/*/**", // schema.annotations.*
	"**/icons/**",         // schema.icons.*
}

// within tells whether a JSON pointer is one of the places. In a place a star
// is any one step, and two stars are any number of steps: "**/_meta/**" is
// _meta anywhere and everything in it.
func within(pointer string, places []string) bool {
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	return slices.ContainsFunc(places, func(place string) bool {
		return leads(strings.Split(strings.TrimPrefix(place, "/"), "/"), steps)
	})
}

func leads(place, steps []string) bool {
	switch {
	case len(place) == 0:
		return len(steps) == 0
	case place[0] == "**":
		return leads(place[1:], steps) || len(steps) > 0 && leads(place, steps[1:])
	case len(steps) == 0:
		return false
	}
	return (place[0] == "*" || place[0] == steps[0]) && leads(place[1:], steps[1:])
}

// schemasSent are the judges of basic/index#json-schema-usage, since
// 2025-11-25: which dialect the schemas of tools and forms are written in. That
// the schemas of tools are valid is judged with the tools.
func schemasSent() []check.Check {
	return []check.Check{
		{
			ID:    "schema.dialect.recommended",
			Says:  "schemas are written in JSON Schema 2020-12",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-dialect-2020-12-recommended"},
			Judge: dialectRecommended,
		},
		{
			ID:    "schema.dialect.valid",
			Says:  "the schema that a form is asked by is valid under the dialect that it names, or 2020-12",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-valid-for-dialect"},
			Judge: requestedSchemaValid,
		},
	}
}

func dialectRecommended(j *check.J) {
	for _, member := range []string{"inputSchema", "outputSchema", "requestedSchema"} {
		eachMember(j, member, func(m found) {
			dialect := wire.Member(m.Value, "$schema")
			switch {
			case !m.Value.IsObject() || dialect.Exists() && dialect.Type != gjson.String:
			case dialect.Exists() && !names2020(dialect.Str):
				j.Fail(m.Entry, "%s: %s/$schema is %q", m.name, m.Path, wire.Clip(dialect.Str, 80))
			default:
				j.Saw()
			}
		})
	}
}

// names2020 overlooks the scheme and an empty fragment, in which spellings of
// the one URI differ.
func names2020(uri string) bool {
	_, rest, _ := strings.Cut(uri, "://")
	return strings.TrimSuffix(rest, "#") == "json-schema.org/draft/2020-12/schema"
}

// requestedSchemaValid leaves alone what cannot be judged: unknown dialects,
// and patterns that only other engines read.
func requestedSchemaValid(j *check.J) {
	eachMember(j, "requestedSchema", func(m found) {
		if !m.Value.IsObject() {
			return
		}
		_, err := schema.CompileTool([]byte(m.Value.Raw))
		var invalid *schema.InvalidSchemaError
		switch {
		case err == nil:
			j.Saw()
		case errors.As(err, &invalid):
			j.Fail(m.Entry, "%s: %s is no valid schema: %s", m.name, m.Path, invalid.Violations[0])
		}
	})
}
