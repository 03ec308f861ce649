package elicitation

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// formFields are the judges of the fields of a form
// (client/elicitation#requested-schema): properties of its requestedSchema,
// which may be of a few plain kinds only.
func formFields() []check.Check {
	fields := func(id, says string, kind fieldKind, rules ...string) check.Check {
		return check.Check{
			ID: id, Says: says, Level: spec.Must, In: spec.Since(spec.V2025_06_18), Rules: rules,
			Judge: func(j *check.J) { fieldsOf(j, kind) },
		}
	}
	return []check.Check{
		{
			ID:    "elicitation.schema.flat",
			Says:  "the fields of a form are strings, numbers, booleans or choices",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_06_18),
			Rules: []string{"elicitation-schema-flat-primitive", "elicitation-schema-types-docs"},
			Judge: func(j *check.J) {
				eachField(j, func(a transcript.InputRequest, p transcript.Part) {
					if kind, _ := field(j, p.Value); kind == noField {
						j.Fail(a.Entry, "%s: %s is %s, which is no field that a form may have", a.Name, p.Pointer, wire.Clip(p.Value.Raw, 120))
						return
					}
					j.Saw()
				})
			},
		},
		fields("elicitation.schema.string", "a string field of a form has the keywords of its kind, and a format of the four", stringField, "elicitation-string-schema"),
		fields("elicitation.schema.number", "a number field of a form has the keywords of its kind", numberField, "elicitation-number-schema"),
		fields("elicitation.schema.boolean", "a boolean field of a form has the keywords of its kind", booleanField, "elicitation-boolean-schema"),
		fields("elicitation.schema.enum", "a choice of a form has one of the shapes that the revision knows", enumField, "elicitation-enum-schema"),
	}
}

// A fieldKind is a kind of fields.
type fieldKind int

const (
	noField fieldKind = iota // none that a form may have
	stringField
	numberField
	booleanField
	enumField
)

// field tells what kind a property is meant to be, and the definition of that
// kind (schema.ts#PrimitiveSchemaDefinition).
func field(j *check.J, v gjson.Result) (kind fieldKind, def string) {
	several := schema.For(j.Rev).Has("UntitledMultiSelectEnumSchema") // may be chosen, since 2025-11-25
	switch of := v.Get("type").String(); {
	case !v.IsObject() || v.Get("type").Type != gjson.String:
	case of == "string" && several && v.Get("oneOf").Exists():
		return enumField, "TitledSingleSelectEnumSchema"
	case of == "string" && several && v.Get("enumNames").Exists():
		return enumField, "LegacyTitledEnumSchema"
	case of == "string" && several && v.Get("enum").Exists():
		return enumField, "UntitledSingleSelectEnumSchema"
	case of == "string" && (v.Get("enum").Exists() || v.Get("enumNames").Exists()):
		return enumField, "EnumSchema"
	case of == "string":
		return stringField, "StringSchema"
	case of == "number" || of == "integer":
		return numberField, "NumberSchema"
	case of == "boolean":
		return booleanField, "BooleanSchema"
	case of == "array" && several && v.Get("items.anyOf").Exists():
		return enumField, "TitledMultiSelectEnumSchema"
	case of == "array" && several && v.Get("items.enum").Exists():
		return enumField, "UntitledMultiSelectEnumSchema"
	}
	return noField, ""
}

// eachField gives the properties of the forms.
func eachField(j *check.J, look func(a transcript.InputRequest, p transcript.Part)) {
	forms(j, func(a transcript.InputRequest) {
		for _, p := range a.Params().Member("requestedSchema").Member("properties").Members() {
			look(a, p)
		}
	})
}

func fieldsOf(j *check.J, kind fieldKind) {
	eachField(j, func(a transcript.InputRequest, p transcript.Part) {
		is, def := field(j, p.Value)
		if is != kind {
			return
		}
		if broken := schema.For(j.Rev).Validate(def, []byte(p.Value.Raw)); len(broken) > 0 {
			j.Fail(a.Entry, "%s: %s%s", a.Name, p.Pointer, broken[0])
			return
		}
		j.Saw()
	})
}
