package elicitation

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// formJudges returns the judges of forms.
func formJudges() []check.Check {
	return []check.Check{
		{
			ID:    "elicitation.form.links",
			Says:  "the message of a form holds no link",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"elicitation-no-urls-in-form"},
			Idle:  noForm,
			Hint:  offerForm,
			// Only the message is judged: a field for an address may show an example of one. For
			// the same reason names that are reserved for examples (RFC 2606) are no links.
			Judge: func(j *check.J) {
				check.Each(j, forms(j), func(a transcript.InputRequest) bool {
					for _, found := range link.FindAllString(a.Params().Value.Get("message").String(), -1) {
						u, err := url.Parse(strings.TrimRight(found, ".,;:!?)"))
						if err == nil && !isReservedName(u.Hostname()) {
							j.Fail(a.Entry, "%s: the message of the form holds the link %s", a.Name,
								wire.Clip(u.String(), 120))
							break
						}
					}
					return true
				})
			},
		},
		secretsJudge(),
	}
}

// link matches addresses of the web that a host may make clickable.
var link = regexp.MustCompile(`https?://[^\s"'<>]+`)

// isReservedName reports whether a host name is reserved for examples (RFC 2606).
func isReservedName(host string) bool {
	names := []string{"example", "test", "invalid", "example.com", "example.org", "example.net"}
	return slices.ContainsFunc(names, func(reserved string) bool {
		return host == reserved || strings.HasSuffix(host, "."+reserved)
	})
}

// fieldJudges returns the judges of the fields of a form: the properties of its
// requestedSchema, which have a few plain types (client/elicitation#requested-schema).
func fieldJudges() []check.Check {
	return []check.Check{
		{
			ID:    "elicitation.schema.flat",
			Says:  "the fields of a form are strings, numbers, booleans or choices",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"elicitation-schema-flat-primitive", "elicitation-schema-types-docs"},
			Idle:  "no form has a field",
			Hint:  "elicit a form whose requestedSchema has a property",
			Judge: func(j *check.J) {
				check.Each(j, fields(j), func(f field) bool {
					if f.kind == invalidField {
						j.Fail(f.Entry, "%s: %s is %s, which is no field that a form may have",
							f.Name, f.part.Pointer, wire.Clip(f.part.Value.Raw, 120))
					}
					return true
				})
			},
		},
		{
			ID:    "elicitation.schema.string",
			Says:  "a string field of a form has the keywords of its type, and one of four formats",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"elicitation-string-schema"},
			Idle:  "no form has a string field",
			Hint:  "elicit a form with a string field",
			Judge: func(j *check.J) { judgeFields(j, stringField) },
		},
		{
			ID:    "elicitation.schema.number",
			Says:  "a number field of a form has the keywords of its type",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"elicitation-number-schema"},
			Idle:  "no form has a number field",
			Hint:  "elicit a form with a number field",
			Judge: func(j *check.J) { judgeFields(j, numberField) },
		},
		{
			ID:    "elicitation.schema.boolean",
			Says:  "a boolean field of a form has the keywords of its type",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"elicitation-boolean-schema"},
			Idle:  "no form has a boolean field",
			Hint:  "elicit a form with a boolean field",
			Judge: func(j *check.J) { judgeFields(j, booleanField) },
		},
		{
			ID:    "elicitation.schema.enum",
			Says:  "a choice of a form has one of the shapes that the revision defines",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"elicitation-enum-schema"},
			Idle:  "no form has a choice",
			Hint:  "elicit a form with a choice: a property with enum or oneOf",
			Judge: func(j *check.J) { judgeFields(j, enumField) },
		},
	}
}

// judgeFields judges the fields of a kind against the definition of that kind.
func judgeFields(j *check.J, kind fieldKind) {
	check.Each(j, fields(j), func(f field) bool {
		if f.kind != kind {
			return false
		}
		if broken := schema.For(j.Rev).Validate(f.definition, []byte(f.part.Value.Raw)); len(broken) > 0 {
			j.Fail(f.Entry, "%s: %s%s", f.Name, f.part.Pointer, broken[0])
		}
		return true
	})
}

// A fieldKind is a kind of fields.
type fieldKind int

const (
	invalidField fieldKind = iota // none that a form may have
	stringField
	numberField
	booleanField
	enumField
)

// A field is a property of a form.
type field struct {
	transcript.InputRequest
	part       transcript.Part
	kind       fieldKind
	definition string
}

// fields returns the properties of the forms.
func fields(j *check.J) []field {
	var out []field
	for _, a := range forms(j) {
		for _, p := range a.Params().Member("requestedSchema").Member("properties").Members() {
			kind, definition := kindOf(j, p.Value)
			out = append(out, field{a, p, kind, definition})
		}
	}
	return out
}

// kindOf returns the kind of a property by its keywords, and the definition of that
// kind (schema.ts#PrimitiveSchemaDefinition).
func kindOf(j *check.J, v gjson.Result) (kind fieldKind, definition string) {
	hasMulti := schema.For(j.Rev).Has("UntitledMultiSelectEnumSchema") // since 2025-11-25
	switch of := v.Get("type").String(); {
	case !v.IsObject() || v.Get("type").Type != gjson.String:
	case of == "string" && hasMulti && v.Get("oneOf").Exists():
		return enumField, "TitledSingleSelectEnumSchema"
	case of == "string" && hasMulti && v.Get("enumNames").Exists():
		return enumField, "LegacyTitledEnumSchema"
	case of == "string" && hasMulti && v.Get("enum").Exists():
		return enumField, "UntitledSingleSelectEnumSchema"
	case of == "string" && (v.Get("enum").Exists() || v.Get("enumNames").Exists()):
		return enumField, "EnumSchema"
	case of == "string":
		return stringField, "StringSchema"
	case of == "number" || of == "integer":
		return numberField, "NumberSchema"
	case of == "boolean":
		return booleanField, "BooleanSchema"
	case of == "array" && hasMulti && v.Get("items.anyOf").Exists():
		return enumField, "TitledMultiSelectEnumSchema"
	case of == "array" && hasMulti && v.Get("items.enum").Exists():
		return enumField, "UntitledMultiSelectEnumSchema"
	}
	return invalidField, ""
}
