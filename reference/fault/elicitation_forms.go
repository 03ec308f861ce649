package fault

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// addFormField adds a field to forms.
func addFormField(name string, schema server.Object) apply {
	return onForm(func(p server.Object) { fieldsOf(p)[name] = schema })
}

// elicitationForms are faults in elicitations in form mode.
func elicitationForms() []Fault {
	word := server.Object{"type": "string"}
	return []Fault{
		{
			Name: "form-without-message", Does: "leaves the message out of a form",
			CaughtBy: []string{"elicitation.request.params"},
			Apply:    onForm(remove("message")),
		},
		{
			Name: "form-of-mode-dialog", Does: "elicits in an unknown mode", In: spec.Since(spec.V2025_11_25),
			CaughtBy: []string{"elicitation.request.params"},
			Apply:    onForm(set("mode", "dialog")),
		},
		{
			Name: "form-schema-untyped", Does: "leaves the type out of requestedSchema",
			CaughtBy: []string{"elicitation.schema.object"},
			Apply:    onForm(func(p server.Object) { delete(p["requestedSchema"].(server.Object), "type") }),
		},
		{
			Name: "form-nested", Does: "has an object as a field of a form",
			CaughtBy: []string{"elicitation.schema.flat"},
			Apply: addFormField("address",
				server.Object{"type": "object", "properties": server.Object{"street": word}}),
		},
		{
			Name: "form-list", Does: "has an array of strings as a field of a form",
			CaughtBy: []string{"elicitation.schema.flat"},
			Apply:    addFormField("wishes", server.Object{"type": "array", "items": word}),
		},
	}
}

// elicitationFields are faults in the fields of forms.
func elicitationFields() []Fault {
	since11, only06 := spec.Since(spec.V2025_11_25), spec.Only(spec.V2025_06_18)
	onEnum := func(edit func(field server.Object)) apply {
		return onField(func(f server.Object) {
			if f["enum"] != nil {
				edit(f)
			}
		}, "string")
	}
	return []Fault{
		{
			Name: "form-format-phone", Does: "has a field in a format that forms do not have",
			CaughtBy: []string{"elicitation.schema.string"},
			Apply: onField(func(f server.Object) {
				if f["enum"] == nil {
					f["format"] = "phone"
				}
			}, "string"),
		},
		{
			Name: "form-number-title", Does: "writes the title of number fields as a number", In: only06,
			CaughtBy: []string{"elicitation.schema.number"},
			Apply:    onField(set("title", 7), "integer"),
		},
		{
			Name: "form-number-default", Does: "writes the default of number fields as a string", In: since11,
			CaughtBy: []string{"elicitation.schema.number"},
			Apply:    onField(set("default", "ten"), "integer"),
		},
		{
			Name: "form-boolean-title", Does: "writes the title of boolean fields as a number", In: only06,
			CaughtBy: []string{"elicitation.schema.boolean"},
			Apply:    onField(set("title", 7), "boolean"),
		},
		{
			Name: "form-boolean-default", Does: "writes the default of boolean fields as a string", In: since11,
			CaughtBy: []string{"elicitation.schema.boolean"},
			Apply:    onField(set("default", "no"), "boolean"),
		},
		{
			Name: "form-choice-of-numbers", Does: "has numbers in the enum of a string field",
			CaughtBy: []string{"elicitation.schema.enum"},
			Apply:    onEnum(set("enum", []any{1, 2, 3})),
		},
		{
			Name: "form-titles-missing", Does: "leaves the titles out of titled choices", In: since11,
			CaughtBy: []string{"elicitation.schema.enum"},
			Apply: onEnum(func(f server.Object) {
				delete(f, "enum")
				f["oneOf"] = []any{server.Object{"const": "A"}, server.Object{"const": "B"}}
			}),
		},
	}
}

// elicitationTexts are faults in what forms say and ask for.
func elicitationTexts() []Fault {
	return []Fault{
		{
			Name: "form-with-link", Does: "puts a link into the message of forms",
			CaughtBy: []string{"elicitation.form.links"},
			Apply: onForm(func(p server.Object) {
				p["message"] = p["message"].(string) + " Look at https://harbour-street-library.org/help."
			}),
		},
		{
			Name: "form-for-password", Does: "elicits a password in form mode",
			Breaks:   []string{"elicitation-no-sensitive-information", "elicitation-no-sensitive-information-security"},
			CaughtBy: []string{"elicitation.form.secrets"},
			Apply:    addFormField("password", server.Object{"type": "string", "title": "Please confirm"}),
		},
		{
			Name: "form-for-api-key", Does: "elicits an API key in form mode", In: spec.Since(spec.V2025_11_25),
			CaughtBy: []string{"elicitation.form.secrets"},
			Apply:    addFormField("API_key", server.Object{"type": "string", "title": "Please confirm"}),
		},
	}
}
