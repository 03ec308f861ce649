package authorization

import (
	"encoding/base64"
	"testing"
)

// Only a JSON Web Token has claims.
func TestTokenClaimReadsJSONWebTokensOnly(t *testing.T) {
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://a.example"}`))
	for token, want := range map[string]string{
		"e30." + claims + ".c2ln": "https://a.example", "": "", "opaque": "", "two.parts": "", "a.b.c": "",
		"e30." + claims: "", "e30." + claims + ".c2ln.more": "", "e30.W10.c2ln": "",
	} {
		if got := tokenClaim(token, "iss"); got != want {
			t.Errorf("the claim of %q is %q, want %q", token, got, want)
		}
	}
}
