package elicitation

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// What is no secret without any doubt is held against nobody.
func TestOnlyFieldsThatAreSecretsAreHeldAgainstAForm(t *testing.T) {
	c := formSecrets()
	c.Of = wire.Server
	look := func(params string) check.State {
		ask := wire.Frame{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":` + params + `}`)}
		return check.Look(c, spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{ask})).State
	}
	form := func(properties string) string {
		return `{"message":"Your password, please","requestedSchema":{"type":"object","properties":` + properties + `}}`
	}
	for name, params := range map[string]string{
		"plain":    form(`{"password":{"type":"string"}}`),
		"snake":    form(`{"name":{"type":"string"},"api_key":{"type":"string","minLength":8}}`),
		"camel":    form(`{"accessToken":{"type":"string"}}`),
		"spaced":   form(`{"Credit-card number":{"type":"string"}}`),
		"explicit": `{"mode":"form",` + form(`{"CLIENT_SECRET":{"type":"string"}}`)[1:],
	} {
		if got := look(params); got != check.Violated {
			t.Errorf("%s came to %v", name, got)
		}
	}
	for name, params := range map[string]string{
		"text":      form(`{"hint":{"type":"string","title":"Password","description":"the password of the wireless network"}}`),
		"part":      form(`{"passwordHint":{"type":"string"},"token":{"type":"string"},"key":{"type":"string"},"cardNumber":{"type":"string"}}`),
		"boolean":   form(`{"password":{"type":"boolean"}}`),
		"number":    form(`{"cvv":{"type":"integer"}}`),
		"choice":    form(`{"apiKey":{"type":"string","enum":["first","second"]}}`),
		"titled":    form(`{"apiKey":{"type":"string","oneOf":[{"const":"1","title":"first"}]}}`),
		"formatted": form(`{"password":{"type":"string","format":"date"}}`),
		"empty":     form(`{}`),
	} {
		if got := look(params); got != check.Kept {
			t.Errorf("%s came to %v", name, got)
		}
	}
	for name, params := range map[string]string{
		"page":   `{"mode":"url","message":"x","url":"https://library.example","elicitationId":"1","requestedSchema":{"properties":{"password":{"type":"string"}}}}`,
		"broken": form(`7`),
	} {
		if got := look(params); got == check.Violated || got == check.Kept {
			t.Errorf("%s came to %v", name, got)
		}
	}
}
