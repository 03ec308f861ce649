package authorization

import (
	"net/http"

	"github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// tokenProbes returns the probes of the tokens that a protected server accepts and
// refuses (basic/authorization#access-token-usage). They are for servers that answer
// with a bearer token and not without.
func tokenProbes() []check.Check {
	return []check.Check{
		{
			ID:    "authorization.missing.status",
			Says:  "the server answers a request without a token with status 401",
			Level: spec.Must,
			In:    authorizing,
			On:    onWeb,
			Rules: []string{"authorization-401-when-required"},
			Idle:  "no request without a token was answered",
			Hint:  giveToken,
			Probe: func(t *check.T) {
				a := requireProtected(t)
				t.HTTP().Mark(a.exchange)
				match.Expect(t, a.exchange.Status).To(match.BeStatus(http.StatusUnauthorized),
					"a first request without a token was answered with %s", a.describe())
				t.Saw()
			},
		},
		{
			ID:    "authorization.challenge.bearer",
			Says:  "a 401 has a WWW-Authenticate header with a challenge of the scheme Bearer",
			Level: spec.Must,
			In:    authorizing,
			On:    onWeb,
			Rules: []string{"authorization-401-www-authenticate"},
			Idle:  "no request was answered with status 401",
			Hint:  answer401,
			Probe: func(t *check.T) {
				for _, a := range append([]attempt{requireProtected(t)}, invalidTokenAttempts(t)...) {
					if a.exchange.Status != http.StatusUnauthorized {
						continue
					}
					if a.challenge() == nil {
						t.HTTP().Mark(a.exchange)
						t.Fail("a challenge of the scheme Bearer", a.challengeFields(),
							"the 401 to a request with %s has no challenge of the scheme Bearer in WWW-Authenticate",
							a.label)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.token.validated",
			Says:  "the server refuses a token that nobody issued",
			Level: spec.Must,
			In:    authorizing,
			On:    onWeb,
			Rules: []string{"authorization-validate-tokens", "authorization-validate-inbound-52"},
			Idle:  "no token that nobody issued was sent",
			Hint:  giveToken,
			Probe: func(t *check.T) {
				requireProtected(t)
				expectRefused(t, unissuedTokens(t)...)
			},
		},
		{
			ID:    "authorization.token.forged",
			Says:  "the server refuses a token that its authorization server did not sign",
			Level: spec.Must,
			In:    binding,
			On:    onWeb,
			Rules: []string{"authorization-no-foreign-tokens"},
			Idle:  "the token is no JSON Web Token, from which a forged one could be made",
			Hint:  `give a token of another issuer: authorization: {foreign: "${TOKEN}"} in --config`,
			Probe: func(t *check.T) {
				requireProtected(t)
				expectRefused(t, forgedTokens(t)...)
			},
		},
		{
			ID:    "authorization.token.expired",
			Says:  "the server refuses a token that has expired",
			Level: spec.Must,
			In:    authorizing,
			On:    onWeb,
			Rules: []string{"authorization-invalid-token-401"},
			Idle:  "no expired token was sent",
			Hint:  `give an expired token: authorization: {expired: "${TOKEN}"} in --config`,
			Probe: func(t *check.T) {
				requireProtected(t)
				expectRefused(t, invalidToken{"an expired token", t.Auth().Token(check.TokenExpired)})
			},
		},
		{
			ID:    "authorization.invalid.status",
			Says:  "the server answers an invalid token with status 401",
			Level: spec.Must,
			In:    authorizing,
			On:    onWeb,
			Rules: []string{"authorization-invalid-token-401"},
			Idle:  "the server refused no invalid token",
			Hint:  "refuse a token that nobody issued",
			// The checks of the tokens judge those that were served.
			Probe: func(t *check.T) {
				for _, a := range invalidTokenAttempts(t) {
					if a.isServed() {
						continue
					}
					t.HTTP().Mark(a.exchange)
					match.Expect(t, a.exchange.Status).To(match.BeStatus(http.StatusUnauthorized),
						"a first request with %s was answered with %s", a.label, a.describe())
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.invalid.error",
			Says:  "a challenge to an invalid token that names an error names invalid_token",
			Level: spec.Must,
			In:    authorizing,
			On:    onWeb,
			Rules: []string{"authorization-validation-failure-response"},
			Idle:  "no challenge to an invalid token names an error",
			Hint:  `name the error in the challenge to an invalid token: error="invalid_token"`,
			// RFC 6750 section 3.1 has other codes for other statuses than 401, and a
			// challenge need not name any.
			Probe: func(t *check.T) {
				for _, a := range invalidTokenAttempts(t) {
					c := a.challenge()
					if a.isServed() || a.exchange.Status != http.StatusUnauthorized || c == nil ||
						c.params["error"] == "" {
						continue
					}
					t.HTTP().Mark(a.exchange)
					match.Expect(t, c.params["error"]).To(gomega.Equal("invalid_token"),
						"the error in the challenge to %s", a.label)
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.malformed.status",
			Says:  "the server answers an Authorization header without a valid token with status 400 or 401",
			Level: spec.Must,
			In:    authorizing,
			On:    onWeb,
			Rules: []string{"authorization-error-status-codes"},
			Idle:  "no malformed Authorization header was sent",
			Hint:  giveToken,
			// Whether a header without a token is malformed, or the token is missing, is left
			// open (basic/authorization#error-handling).
			Probe: func(t *check.T) {
				requireProtected(t)
				for _, malformed := range []struct{ what, value string }{
					{"the scheme alone", "Bearer"},
					{"two words as token", "Bearer mcp check"},
				} {
					a := postOpening(t, malformed.what, check.With("Authorization", malformed.value))
					match.Expect(t, a.exchange.Status).To(match.BeStatus(http.StatusBadRequest,
						http.StatusUnauthorized),
						"a first request with %s in the header Authorization was answered with %s", a.label,
						a.describe())
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.query.refused",
			Says:  "the server does not accept a token that is only in the query of the URL",
			Level: spec.Should,
			In:    authorizing,
			On:    onWeb,
			Rules: []string{"authorization-server-rejects-query-token"},
			Idle:  "no token was sent in the query",
			Hint:  giveToken,
			Probe: func(t *check.T) {
				requireProtected(t)
				a := postOpening(t, "the token in the query alone", withoutToken(),
					withTokenInQuery(t, t.Auth().Bearer()))
				if a.isServed() {
					t.Fail("a refusal", a.describe(),
						"a first request with the token in the query of the URL, and not in the header, was served")
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.refused.no-result",
			Says:  "a response that refuses a request does not contain the result of the request",
			Level: spec.Must,
			In:    binding,
			On:    transport.OnHTTP,
			Rules: []string{"authorization-validate-before-processing"},
			Idle:  "the server refused nothing by its status",
			Hint:  "refuse a request without a token with status 401",
			Probe: func(t *check.T) {
				expectNoResult(t, requireProtected(t))
				expectNoResult(t, postOpening(t, "a word as token", withToken("mcpcheck")))
				for _, l := range offer.Lists(t) {
					expectNoResult(t, postMessage(t, "no token", t.Frame(t.NextID(), l.Method, check.Params{}),
						withoutToken()))
				}
			},
		},
		{
			ID:    "authorization.audience.refused",
			Says:  "the server refuses a token that was issued for another server",
			Level: spec.Must,
			In:    binding,
			On:    onWeb,
			Rules: []string{
				"authorization-audience-validation", "authorization-audience-validation-security",
				"authorization-accept-own-audience-only", "authorization-reject-wrong-audience",
				"authorization-accept-own-tokens-only", "security-no-foreign-tokens",
			},
			Idle: "no token for another server was sent",
			Hint: `give a token for another server: authorization: {audience: "${TOKEN}"} in --config`,
			Probe: func(t *check.T) {
				requireProtected(t)
				expectRefused(t, invalidToken{"a token for another server", t.Auth().Token(check.TokenAudience)})
			},
		},
		{
			ID:    "authorization.audience.case",
			Says:  "the server accepts a token whose audience has its scheme and host in upper case",
			Level: spec.Should,
			In:    binding,
			On:    onWeb,
			Rules: []string{"authorization-resource-accept-uppercase"},
			Idle:  "no token with its audience in upper case was sent",
			Hint:  `give a token whose audience is in upper case: authorization: {upper: "${TOKEN}"} in --config`,
			Probe: func(t *check.T) {
				requireProtected(t)
				a := postOpening(t, "a token with its audience in upper case",
					withToken(t.Auth().Token(check.TokenUpper)))
				if !a.isServed() {
					t.Fail("the answer to the good token", a.describe(),
						"a token whose audience has scheme and host in upper case was refused")
				}
				t.Saw()
			},
		},
	}
}

// expectNoResult judges that the response to a request that was refused by its
// status holds no result.
func expectNoResult(t *check.T, a attempt) {
	if a.exchange.Status < 400 {
		return
	}
	t.HTTP().Complete(a.exchange)
	for _, m := range a.exchange.Snapshot().Messages() {
		if m.Kind == wire.Result {
			t.HTTP().Mark(a.exchange)
			t.Fail("a refusal alone", m.Summary(),
				"the response that refused a request with %s with status %d contains a result",
				a.label, a.exchange.Status)
		}
	}
	t.Saw()
}
