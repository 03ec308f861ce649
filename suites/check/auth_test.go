package check

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A report shows no token, in any text of the server that repeats it.
func TestHideAllHidesTokens(t *testing.T) {
	const token, second = "tok+en/1", "other-token"
	a := Authorization{Tokens: map[string]string{TokenSecond: second}}.WithSecrets(token)
	a.Secrets.Add("x") // too short to be one
	note := "the second is " + second
	frame := wire.Frame{From: wire.Server, Raw: []byte(`{"error":"` + token + `"}`), HTTP: &wire.HTTP{
		URL: "/mcp?access_token=tok%2Ben%2F1", Body: "bad " + token,
		Header: map[string][]string{"Www-Authenticate": {"Bearer error_description=" + second}},
	}}
	o := Outcome{Detail: "got " + token, Expected: "max", Notes: []string{note}, Frames: []wire.Frame{frame}}
	hidden := a.HideAll(o)
	text := hidden.Detail + hidden.Notes[0] + string(hidden.Frames[0].AppendJSON(nil))
	for _, s := range []string{token, second, "tok%2Ben%2F1"} {
		if strings.Contains(text, s) {
			t.Errorf("%q is shown: %s", s, text)
		}
	}
	if hidden.Expected != "max" || !strings.Contains(text, `{"error":"…"}`) {
		t.Errorf("too much is hidden: %s", text)
	}
	if o.Notes[0] != note || frame.HTTP.Body != "bad "+token {
		t.Error("the original outcome was changed")
	}
	if got := (Authorization{}).Hide(token); got != token {
		t.Errorf("without a record %q is hidden: %q", token, got)
	}
}
