package authorization

import (
	"encoding/base64"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// An invalidToken is a token that no server should accept.
type invalidToken struct{ what, token string }

// unissuedTokens returns tokens that no authorization server issued.
func unissuedTokens(t *check.T) []invalidToken {
	own := t.Auth().Bearer()
	half := own[:len(own)/2]
	t.Auth().Hide(half)
	return []invalidToken{
		{"a word as token", "mcpcheck"},
		{"random letters as token", "mF_9.B5f-4.1JqM2mcpcheck0123456789abcdefgh"},
		{"half of the token", half},
	}
}

// forgedTokens returns unsigned tokens with the claims of the good one, and one of
// another issuer if the user gives one. If the good token is no JSON Web Token (RFC
// 7519), no token can be forged.
func forgedTokens(t *check.T) []invalidToken {
	parts := strings.Split(t.Auth().Bearer(), ".")
	var out []invalidToken
	if len(parts) == 3 && isJSONPart(parts[0]) && isJSONPart(parts[1]) {
		none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
		noise := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("mcpcheck", 8)))
		out = append(out,
			invalidToken{"the claims of the token without a signature", none + "." + parts[1] + "."},
			invalidToken{"the claims of the token with an invalid signature", parts[0] + "." + parts[1] + "." + noise})
		t.Auth().Hide(parts[1])
	}
	if token, ok := t.Auth().TryToken(check.TokenForeign); ok {
		out = append(out, invalidToken{"a token of another issuer", token})
	}
	return out
}

// isJSONPart reports whether a part of a JSON Web Token is a JSON object.
func isJSONPart(part string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && gjson.ValidBytes(raw) && gjson.ParseBytes(raw).IsObject()
}

// tokenClaim returns a claim of a JSON Web Token, "" if there is none.
func tokenClaim(token, name string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || !isJSONPart(parts[1]) {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	return gjson.GetBytes(raw, name).String()
}

// expectRefused judges that an opening with each of the tokens is refused.
func expectRefused(t *check.T, tokens ...invalidToken) {
	for _, invalid := range tokens {
		a := postOpening(t, invalid.what, withToken(invalid.token))
		if a.isServed() {
			t.Fail("a refusal", a.describe(), "a first request with %s was served", a.label)
		}
		t.Saw()
	}
}

var invalidTokenKey = check.NewKey[[]attempt]("openings with invalid tokens")

// invalidTokenAttempts returns openings with tokens that no server should accept:
// tokens that nobody issued or signed, and one that has expired if the user gives
// one.
func invalidTokenAttempts(t *check.T) []attempt {
	requireProtected(t)
	return check.Once(t, invalidTokenKey, func() []attempt {
		tokens := append(unissuedTokens(t), forgedTokens(t)...)
		if token, ok := t.Auth().TryToken(check.TokenExpired); ok {
			tokens = append(tokens, invalidToken{"an expired token", token})
		}
		var out []attempt
		for _, invalid := range tokens {
			out = append(out, postOpening(t, invalid.what, withToken(invalid.token)))
		}
		return out
	})
}

var secondTokenKey = check.NewKey[attempt]("opening with the second token")

// secondToken returns the token of another user. It ends the body if there is none
// or the server refuses it.
func secondToken(t *check.T) string {
	requireProtected(t)
	token := t.Auth().Token(check.TokenSecond)
	a := check.Once(t, secondTokenKey, func() attempt {
		return postOpening(t, "the second user's token", withToken(token))
	})
	if !a.isServed() {
		t.NotObserved("the server refuses the token of the second user: "+a.describe(), giveSecondToken)
	}
	return token
}
