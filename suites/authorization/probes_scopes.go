package authorization

import (
	"net/http"
	"slices"
	"strings"

	"github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// scopeProbes returns the probes of tokens with less scope than the server needs,
// or with more (basic/authorization#scope-challenge-handling).
func scopeProbes() []check.Check {
	return []check.Check{
		{
			ID:    "authorization.scope.status",
			Says:  "the server refuses a request whose token lacks scope with status 403",
			Level: spec.Must,
			In:    authorizing,
			On:    transport.OnHTTP,
			Rules: []string{"authorization-error-status-codes"},
			Idle:  "no request was refused for lack of scope",
			Hint:  refuseScope,
			Probe: func(t *check.T) {
				for _, r := range scopeRefusals(t) {
					match.Expect(t, r.exchange.Status).To(match.BeStatus(http.StatusForbidden),
						"%s with a token that lacks scope was answered with %s", r.label, r.describe())
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.scope.challenge",
			Says:  "a 403 for lack of scope has a challenge with insufficient_scope, the scopes and the metadata",
			Level: spec.Should,
			In:    scoping,
			On:    transport.OnHTTP,
			Rules: []string{"authorization-insufficient-scope-403"},
			Idle:  "no request was refused for lack of scope",
			Hint:  refuseScope,
			Probe: func(t *check.T) {
				for _, r := range forbiddenRequests(t) {
					c := r.challenge()
					if c == nil {
						t.Fail("a challenge of the scheme Bearer", r.challengeFields(),
							"the 403 to %s has no challenge of the scheme Bearer", r.label)
					}
					match.Expect(t, c.params["error"]).To(gomega.Equal("insufficient_scope"),
						"the error in the challenge to %s", r.label)
					for _, name := range []string{"scope", "resource_metadata"} {
						if c.params[name] == "" {
							t.Fail(name, r.challengeFields(), "the challenge to %s lacks %s", r.label, name)
						}
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.scope.sufficient",
			Says:  "the server does not refuse a token with the scopes of its challenge for lack of scope",
			Level: spec.Should,
			In:    scoping,
			On:    transport.OnHTTP,
			Rules: []string{"authorization-insufficient-scope-included", "authorization-scope-single-challenge"},
			Idle:  "no challenge names scopes that could be granted",
			Hint:  "name the missing scopes in the challenge of the 403: scope in WWW-Authenticate",
			// The token has the scopes of the first token too, as that of a client that steps
			// up has (basic/authorization#step-up-authorization-flow).
			Probe: func(t *check.T) {
				for _, r := range forbiddenRequests(t) {
					c := r.challenge()
					if c == nil || c.params["scope"] == "" || r.request.method == "" {
						continue
					}
					user, err := t.Sessions().TryUser(steppedUpToken(t, c.params["scope"]))
					if err != nil {
						continue
					}
					a := r.request.post(user)
					user.Sessions().CloseLater()
					if a.exchange.Status == http.StatusForbidden {
						again := ""
						if c := a.challenge(); c != nil {
							again = c.params["scope"]
						}
						t.Fail("no further challenge", a.describe(),
							"%s was challenged for the scope %q, and with it for %q",
							r.request.what, c.params["scope"], again)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.scope.hierarchy",
			Says:  "the server serves a token with a broader scope what it serves one with the narrower scopes",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"authorization-scope-hierarchy"},
			Idle:  "no request with the broader scope succeeded",
			Hint:  `give a broad token that the server accepts: authorization: {broad: "${TOKEN}"} in --config`,
			Probe: func(t *check.T) {
				requireProtected(t)
				broad := t.Auth().Token(check.TokenBroad)
				expectInScope(t, postOpening(t, "the first request", withToken(broad)))
				user, err := t.Sessions().TryUser(broad)
				if err != nil {
					t.NotObserved("no session was opened with a broader scope: "+err.Error(),
						`give a broad token that the server accepts: authorization: {broad: "${TOKEN}"} in --config`)
				}
				defer user.Sessions().CloseLater()
				for _, r := range safeRequests(t) {
					a := r.post(user)
					expectInScope(t, a)
					if a.answered && a.message.Kind == wire.Result {
						t.Saw()
					}
				}
			},
		},
	}
}

// steppedUpToken returns a token with the scopes of the narrow one and those of a
// challenge. If none can be made the body ends.
func steppedUpToken(t *check.T, challenged string) string {
	scopes := strings.Fields(tokenClaim(t.Auth().Token(check.TokenNarrow), "scope"))
	for _, s := range strings.Fields(challenged) {
		if !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	token, ok := t.Auth().Mint(strings.Join(scopes, " "))
	if !ok {
		t.NotObserved("no token can be made with the scopes of the challenge",
			"have the server trust mcpcheck reference authorization-server: authorization: {issuer: URL} in --config")
	}
	return token
}

// expectInScope judges that a request with a broader scope is not refused for lack of
// scope.
func expectInScope(t *check.T, a attempt) {
	if a.exchange.Status == http.StatusForbidden {
		t.Fail("the answer to the good token", a.describe(), "%s with a token of a broader scope was refused", a.label)
	}
}
