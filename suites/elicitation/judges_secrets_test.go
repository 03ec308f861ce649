package elicitation

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A field that may be no secret does not fail the check.
func TestFailsOnlyFieldsThatAreCertainlySecrets(t *testing.T) {
	c := secretsJudge()
	c.Of = wire.Server
	judge := func(params string) check.State {
		request := `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":` + params + `}`
		frame := wire.Frame{From: wire.Server, Raw: []byte(request)}
		return check.Judge(c, spec.V2025_11_25, wire.TranscriptOf([]wire.Frame{frame})).State
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
		if got := judge(params); got != check.Violated {
			t.Errorf("%s: state %v", name, got)
		}
	}
	for name, params := range map[string]string{
		"text": form(`{"hint":{"type":"string","title":"Password",` +
			`"description":"the password of the wireless network"}}`),
		"part": form(`{"passwordHint":{"type":"string"},"token":{"type":"string"},"key":{"type":"string"},` +
			`"cardNumber":{"type":"string"}}`),
		"boolean":   form(`{"password":{"type":"boolean"}}`),
		"number":    form(`{"cvv":{"type":"integer"}}`),
		"choice":    form(`{"apiKey":{"type":"string","enum":["first","second"]}}`),
		"titled":    form(`{"apiKey":{"type":"string","oneOf":[{"const":"1","title":"first"}]}}`),
		"formatted": form(`{"password":{"type":"string","format":"date"}}`),
		"empty":     form(`{}`),
	} {
		if got := judge(params); got != check.Kept {
			t.Errorf("%s: state %v", name, got)
		}
	}
	for name, params := range map[string]string{
		"page": `{"mode":"url","message":"x","url":"https://library.example","elicitationId":"1",` +
			`"requestedSchema":{"properties":{"password":{"type":"string"}}}}`,
		"broken": form(`7`),
	} {
		if got := judge(params); got == check.Violated || got == check.Kept {
			t.Errorf("%s: state %v", name, got)
		}
	}
}
