package authorization

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// guarding are the revisions that have authorization, audience those that bind a
// token to its server, scoping those that have challenges for scope
// (basic/authorization of each).
var (
	guarding = spec.Since(spec.V2025_03_26)
	audience = spec.Since(spec.V2025_06_18)
	scoping  = spec.Since(spec.V2025_11_25)
)

// overWeb are the transports that have authorization.
const overWeb = transport.OnHTTP | transport.OnSSE

// probes are the probes of basic/authorization. They are for servers that
// answer with a bearer token and not without.
func probes() []check.Check {
	return slices.Concat([]check.Check{
		{
			ID:    "authorization.missing.status",
			Says:  "a request without a token is answered with status 401",
			Level: spec.Must, In: guarding, On: overWeb,
			Rules: []string{"authorization-401-when-required"},
			Probe: func(t *check.T) {
				if k := nobody(t); k.x.Status != http.StatusUnauthorized {
					t.Fail("HTTP status 401", k.told(), "a first request without a token was answered with %s", k.told())
				}
			},
		},
		{
			ID:    "authorization.challenge.bearer",
			Says:  "a 401 carries a header WWW-Authenticate with a challenge of the scheme Bearer",
			Level: spec.Must, In: guarding, On: overWeb,
			Rules: []string{"authorization-401-www-authenticate"},
			// challengeBearer looks at what was refused without a token, and with one that
			// nobody issued.
			Probe: func(t *check.T) {
				seen := false
				for _, k := range append([]knock{nobody(t)}, lying(t)...) {
					if k.x.Status != http.StatusUnauthorized {
						continue
					}
					seen = true
					if got := k.x.Header.Values("WWW-Authenticate"); bearerChallenge(k.x.Header) == nil {
						t.Fail("a challenge of the scheme Bearer", quoted(got), "the 401 to a request with %s has %s as its WWW-Authenticate", k.with, quoted(got))
					}
				}
				if !seen {
					t.NotObserved("nothing was answered with status 401", "")
				}
			},
		},
		{
			ID:    "authorization.token.validated",
			Says:  "a token that nobody issued is refused",
			Level: spec.Must, In: guarding, On: overWeb,
			Rules: []string{"authorization-validate-tokens", "authorization-validate-inbound-52"},
			Probe: func(t *check.T) {
				nobody(t)
				refusedAll(t, unissued(t))
			},
		},
		{
			ID:    "authorization.token.forged",
			Says:  "a token that the authorization server did not sign is refused",
			Level: spec.Must, In: audience, On: overWeb,
			Rules: []string{"authorization-no-foreign-tokens"},
			Probe: func(t *check.T) {
				nobody(t)
				lies := forgedTokens(t)
				if len(lies) == 0 {
					t.NotObserved("the token is no JSON Web Token, of which a forgery could be made", `give one of another issuer: authorization: {foreign: "${TOKEN}"}`)
				}
				refusedAll(t, lies)
			},
		},
		{
			ID:    "authorization.token.expired",
			Says:  "a token that has expired is refused",
			Level: spec.Must, In: guarding, On: overWeb,
			Rules: []string{"authorization-invalid-token-401"},
			Probe: func(t *check.T) {
				nobody(t)
				refusedAll(t, []lie{{"an expired token", t.Auth().Token(check.TokenExpired)}})
			},
		},
		{
			ID:    "authorization.invalid.status",
			Says:  "an invalid token is answered with status 401",
			Level: spec.Must, In: guarding, On: overWeb,
			Rules: []string{"authorization-invalid-token-401"},
			// invalidStatus leaves what was served to the checks of the tokens.
			Probe: func(t *check.T) {
				seen := false
				for _, k := range lying(t) {
					switch {
					case k.served():
					case k.x.Status == http.StatusUnauthorized:
						seen = true
					default:
						t.Fail("HTTP status 401", k.told(), "a first request with %s was answered with %s", k.with, k.told())
					}
				}
				if !seen {
					t.NotObserved("no invalid token was refused", "")
				}
			},
		},
		{
			ID:    "authorization.invalid.error",
			Says:  "a challenge to an invalid token that names an error names invalid_token",
			Level: spec.Must, In: guarding, On: overWeb,
			Rules: []string{"authorization-validation-failure-response"},
			// invalidError goes by the codes of RFC 6750 section 3.1, of which a challenge
			// need name none.
			Probe: func(t *check.T) {
				seen := false
				for _, k := range lying(t) {
					c := bearerChallenge(k.x.Header)
					if k.served() || c == nil || c.params["error"] == "" {
						continue
					}
					seen = true
					if got := c.params["error"]; k.x.Status == http.StatusUnauthorized && got != "invalid_token" {
						t.Fail("invalid_token", got, "the challenge to %s names the error %q", k.with, got)
					}
				}
				if !seen {
					t.NotObserved("no challenge to an invalid token names an error", "")
				}
			},
		},
		{
			ID:    "authorization.malformed.status",
			Says:  "a header Authorization that holds no token is answered with status 400, or 401",
			Level: spec.Must, In: guarding, On: overWeb,
			Rules: []string{"authorization-error-status-codes"},
			// malformedStatus accepts 401 too: whether a header without a token is malformed,
			// or tells of none, is left open (basic/authorization#error-handling).
			Probe: func(t *check.T) {
				nobody(t)
				for what, value := range map[string]string{"the scheme alone": "Bearer", "two words for a token": "Bearer mcp check"} {
					k := firstWords(t, what, check.With("Authorization", value))
					if s := k.x.Status; s != http.StatusBadRequest && s != http.StatusUnauthorized {
						t.Fail("HTTP status 400", k.told(), "a first request with %s in the header Authorization was answered with %s", what, k.told())
					}
				}
			},
		},
		{
			ID:    "authorization.query.refused",
			Says:  "a token in the query of the URL counts for nothing",
			Level: spec.Should, In: guarding, On: overWeb,
			Rules: []string{"authorization-server-rejects-query-token"},
			Probe: func(t *check.T) {
				nobody(t)
				if k := firstWords(t, "the token in the query alone", withoutToken, inQuery(t, t.Auth().Bearer())); k.served() {
					t.Fail("a refusal", k.told(), "a first request with the token in the query of the URL, and not in the header, was served: %s", k.told())
				}
			},
		},
		{
			ID:    "authorization.refused.silent",
			Says:  "an answer that refuses a request holds no result of it",
			Level: spec.Must, In: audience, On: transport.OnHTTP,
			Rules: []string{"authorization-validate-before-processing"},
			// refusedSilent looks into the bodies of refusals, of first words and of requests
			// in the session.
			Probe: func(t *check.T) {
				nobody(t)
				refused := 0
				look := func(k knock) {
					if k.x.Status < 400 {
						return
					}
					refused++
					t.HTTP().Complete(k.x)
					for _, m := range k.x.Messages() {
						if m.Kind == wire.Result {
							t.Fail("a refusal alone", m.Summary(), "a request with %s was refused with status %d, and its result came all the same", k.with, k.x.Status)
						}
					}
				}
				look(nobody(t))
				look(firstWords(t, "a word for a token", withToken("mcpcheck")))
				for _, l := range offer.Lists(t) {
					look(knocked(t, "no token", t.Frame(t.NextID(), l.Method, check.Params{}), withoutToken))
				}
				if refused == 0 {
					t.NotObserved("nothing was refused by its status", "")
				}
			},
		},
		{
			ID:    "authorization.audience.refused",
			Says:  "a token that was issued for another server is refused",
			Level: spec.Must, In: audience, On: overWeb,
			Rules: []string{"authorization-audience-validation", "authorization-audience-validation-security", "authorization-accept-own-audience-only",
				"authorization-reject-wrong-audience", "authorization-accept-own-tokens-only", "security-no-foreign-tokens"},
			Probe: func(t *check.T) {
				nobody(t)
				refusedAll(t, []lie{{"a token for another server", t.Auth().Token(check.TokenAudience)}})
			},
		},
		{
			ID:    "authorization.audience.case",
			Says:  "a token whose audience spells scheme and host of the server in upper case is accepted",
			Level: spec.Should, In: audience, On: overWeb,
			Rules: []string{"authorization-resource-accept-uppercase"},
			Probe: func(t *check.T) {
				nobody(t)
				if k := firstWords(t, "a token with its audience in upper case", withToken(t.Auth().Token(check.TokenUpper))); !k.served() {
					t.Fail("what the good token gets", k.told(), "a token whose audience spells scheme and host in upper case was refused: %s", k.told())
				}
			},
		},
	}, authorizationMetadata(), authorizationScopes(), authorizationHosting(), authorizationUsers(), authorizationUpstream())
}

func quoted(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	return wire.Clip(string(check.MustJSON(values)), 200)
}

// refusedAll fails for the first token that was accepted.
func refusedAll(t *check.T, lies []lie) {
	for _, l := range lies {
		if k := firstWords(t, l.what, withToken(l.token)); k.served() {
			t.Fail("a refusal", k.told(), "a first request with %s was served: %s", l.what, k.told())
		}
	}
}
