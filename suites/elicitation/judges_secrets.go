package elicitation

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// formSecrets is the judge of client/elicitation#user-interaction-model: what a
// user is never asked for by a form, and since 2025-11-25 by a page instead.
func formSecrets() check.Check {
	return check.Check{
		ID:    "elicitation.form.secrets",
		Says:  "no form has a field for a secret",
		Level: spec.Must,
		In:    spec.Since(spec.V2025_06_18),
		Rules: []string{"elicitation-no-sensitive-information", "elicitation-no-sensitive-information-security", "elicitation-secrets-use-url"},
		// noSecrets goes by the names of fields alone: a title or message may speak of a
		// secret without asking for one.
		Judge: func(j *check.J) {
			forms(j, func(a transcript.InputRequest) {
				fields := a.Params().Value.Get("requestedSchema.properties")
				if !fields.IsObject() {
					return // elicitation.schema.object
				}
				secret := ""
				fields.ForEach(func(name, v gjson.Result) bool {
					if secretName(name.String()) && freeText(v) {
						secret = name.String()
					}
					return secret == ""
				})
				if secret != "" {
					j.Fail(a.Entry, "%s: the form has the field %q, which asks for a secret", a.Name, wire.Clip(secret, 80))
					return
				}
				j.Saw()
			})
		},
	}
}

// secretName tells whether a field of the name can be for nothing but a secret:
// one of those that the clause lists as examples (passwords, API keys, access
// tokens, payment credentials) or a credential like them, however it is
// spelled. The list stays short: token, key, pin, secret or cardNumber also name
// what is none.
func secretName(name string) bool {
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	return slices.Contains([]string{
		"password", "passwd",
		"apikey", "secretkey", "privatekey", "clientsecret",
		"accesstoken", "refreshtoken",
		"creditcardnumber", "cvv",
	}, plain)
}

// freeText tells whether a field takes any text: a choice, or a text of a
// format such as a date, is no secret whatever its name.
func freeText(v gjson.Result) bool {
	if !v.IsObject() || v.Get("type").String() != "string" || v.Get("format").Exists() {
		return false
	}
	return !slices.ContainsFunc([]string{"enum", "enumNames", "oneOf", "anyOf", "const"}, func(choice string) bool { return v.Get(choice).Exists() })
}
