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

// secretsJudge returns the judge of client/elicitation#user-interaction-model: a form
// never requests a secret. Since 2025-11-25 a server uses URL mode for that.
func secretsJudge() check.Check {
	return check.Check{
		ID:    "elicitation.form.secrets",
		Says:  "no form has a field for a secret",
		Level: spec.Must,
		In:    spec.Since(spec.V2025_06_18),
		Rules: []string{
			"elicitation-no-sensitive-information", "elicitation-no-sensitive-information-security",
			"elicitation-secrets-use-url",
		},
		Idle: noForm,
		Hint: offerForm,
		// Only names of fields are judged: a title or message may mention a secret without
		// requesting it. elicitation.schema.object judges properties that are no object.
		Judge: func(j *check.J) {
			check.Each(j, forms(j), func(a transcript.InputRequest) bool {
				properties := a.Params().Value.Get("requestedSchema.properties")
				if !properties.IsObject() {
					return false
				}
				properties.ForEach(func(name, v gjson.Result) bool {
					isSecret := isSecretName(name.String()) && isFreeText(v)
					if isSecret {
						j.Fail(a.Entry, "%s: the form has the field %q, which requests a secret",
							a.Name, wire.Clip(name.String(), 80))
					}
					return !isSecret
				})
				return true
			})
		},
	}
}

// isSecretName reports whether a field of the name can only be for a secret: one of
// the examples of the clause (passwords, API keys, access tokens, payment
// credentials) or a credential like them, in any spelling. The list is short: token,
// key, pin, secret or cardNumber also name what is no secret.
func isSecretName(name string) bool {
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	return slices.Contains([]string{
		"password", "passwd",
		"apikey", "secretkey", "privatekey", "clientsecret",
		"accesstoken", "refreshtoken",
		"creditcardnumber", "cvv",
	}, plain)
}

// isFreeText reports whether a field takes any text: a choice, or a text with a format
// such as a date, is no secret.
func isFreeText(v gjson.Result) bool {
	if !v.IsObject() || v.Get("type").String() != "string" || v.Get("format").Exists() {
		return false
	}
	choices := []string{"enum", "enumNames", "oneOf", "anyOf", "const"}
	return !slices.ContainsFunc(choices, func(choice string) bool { return v.Get(choice).Exists() })
}
