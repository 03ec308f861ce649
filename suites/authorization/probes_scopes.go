package authorization

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// authorizationScopes are the probes of what a server makes of tokens with less
// scope, or more, than it needs (basic/authorization#scope-challenge-handling).
func authorizationScopes() []check.Check {
	return []check.Check{
		{
			ID:    "authorization.scope.status",
			Says:  "a request whose token lacks scope is refused with status 403",
			Level: spec.Must, In: guarding, On: transport.OnHTTP,
			Rules: []string{"authorization-error-status-codes"},
			Probe: func(t *check.T) {
				for _, l := range lacks(t) {
					if l.x.Status != http.StatusForbidden {
						t.Fail("HTTP status 403", l.told(), "%s with a token that lacks scope was answered with %s", l.with, l.told())
					}
				}
			},
		},
		{
			ID:    "authorization.scope.challenge",
			Says:  "a 403 for lack of scope carries a challenge with insufficient_scope, the scopes and the metadata",
			Level: spec.Should, In: scoping, On: transport.OnHTTP,
			Rules: []string{"authorization-insufficient-scope-403"},
			Probe: func(t *check.T) {
				for _, l := range forbidden(t) {
					c := bearerChallenge(l.x.Header)
					if c == nil {
						t.Fail("a challenge of the scheme Bearer", quoted(l.x.Header.Values("WWW-Authenticate")), "the 403 to %s has no challenge of the scheme Bearer", l.with)
					}
					if got := c.params["error"]; got != "insufficient_scope" {
						t.Fail("insufficient_scope", fmt.Sprintf("%q", got), "the challenge to %s names the error %q", l.with, got)
					}
					for _, name := range []string{"scope", "resource_metadata"} {
						if c.params[name] == "" {
							t.Fail(name, quoted(l.x.Header.Values("WWW-Authenticate")), "the challenge to %s lacks %s", l.with, name)
						}
					}
				}
			},
		},
		{
			ID:    "authorization.scope.sufficient",
			Says:  "with the scopes of the challenge the request is no longer refused for lack of scope",
			Level: spec.Should, In: scoping, On: transport.OnHTTP,
			Rules: []string{"authorization-insufficient-scope-included", "authorization-scope-single-challenge"},
			// scopeSufficient steps up as a client does: with what it had and what the
			// challenge names (basic/authorization#step-up-authorization-flow).
			Probe: func(t *check.T) {
				tried := false
				for _, l := range forbidden(t) {
					c := bearerChallenge(l.x.Header)
					if c == nil || c.params["scope"] == "" || l.method == "" {
						continue
					}
					scopes := strings.Fields(tokenClaim(t.Auth().Token(check.TokenNarrow), "scope"))
					for _, s := range strings.Fields(c.params["scope"]) {
						if !slices.Contains(scopes, s) {
							scopes = append(scopes, s)
						}
					}
					token, ok := t.Auth().Mint(strings.Join(scopes, " "))
					if !ok {
						t.NotObserved("no token can be made with the scopes of the challenge", "have the server trust mcpcheck reference authorization-server: authorization: {issuer: URL}")
					}
					user, err := t.Sessions().TryUser(token)
					if err != nil {
						continue
					}
					tried = true
					k := l.run(user)
					user.Sessions().Leave()
					if k.x.Status == http.StatusForbidden {
						again := ""
						if c := bearerChallenge(k.x.Header); c != nil {
							again = c.params["scope"]
						}
						t.Fail("no further challenge", k.told(), "%s was challenged for the scope %q, and with it for %q", l.what, c.params["scope"], again)
					}
				}
				if !tried {
					t.NotObserved("no challenge names scopes that could be granted", "")
				}
			},
		},
		{
			ID:    "authorization.scope.hierarchy",
			Says:  "a token with a broader scope does what one with the narrower scopes does",
			Level: spec.Must, In: spec.Stateless, On: transport.OnHTTP,
			Rules: []string{"authorization-scope-hierarchy"},
			Probe: func(t *check.T) {
				nobody(t)
				broad := t.Auth().Token(check.TokenBroad)
				if k := firstWords(t, "a token with a broader scope", withToken(broad)); k.x.Status == http.StatusForbidden {
					t.Fail("what the good token gets", k.told(), "a token with a broader scope was refused: %s", k.told())
				}
				user, err := t.Sessions().TryUser(broad)
				if err != nil {
					t.NotObserved("no session was opened with a broader scope: "+err.Error(), "")
				}
				defer user.Sessions().Leave()
				served := 0
				for _, e := range errands(t) {
					k := e.run(user)
					switch {
					case k.x.Status == http.StatusForbidden:
						t.Fail("what the good token gets", k.told(), "%s with a token of a broader scope was refused: %s", e.what, k.told())
					case k.answered && k.m.Kind == wire.Result:
						served++
					}
				}
				if served == 0 {
					t.NotObserved("nothing was tried with a broader scope", "")
				}
			},
		},
	}
}

// An errand is a request that changes nothing and succeeds with the good token.
type errand struct {
	what   string
	method string
	params check.Params
}

var errandsKey = check.NewKey[[]errand]("errands")

// errands are the lists that the server has, a resource and a tool.
func errands(t *check.T) []errand {
	return check.Once(t, errandsKey, func() []errand {
		var out []errand
		for _, l := range offer.Lists(t) {
			if w := offer.Walked(t, l); len(w.Pages) > 0 {
				out = append(out, errand{l.Method, l.Method, check.Params{}})
			}
		}
		if t.Declares("resources") {
			for _, r := range offer.Walked(t, offer.ResourcesList).Items() {
				uri := r.Get("uri").String()
				if e, err := usage.ReadResource(t, uri); err == nil && check.IsComplete(t, e.Message) {
					out = append(out, errand{"resources/read of " + uri, "resources/read", check.Params{"uri": uri}})
					break
				}
			}
		}
		for _, tool := range offer.Tools(t) {
			args := offer.Arguments(t, tool, 1)
			if !offer.ReadOnly(tool) || offer.OnlyAsTask(t, tool) || len(args) == 0 || check.Has(t, offer.SlowTool(tool)) {
				continue
			}
			params := offer.CallParams(tool, args[0])
			if m, ok := t.Try("tools/call", params).Answer(); ok && check.Succeeded(t, m) {
				out = append(out, errand{"tools/call of " + tool.Get("name").String(), "tools/call", params})
				break
			}
		}
		return out
	})
}

// run has the user of a session run an errand.
func (e errand) run(t *check.T) knock {
	return knocked(t, e.what, t.Frame(t.NextID(), e.method, e.params))
}

// A lack is an errand that was refused to a token with less scope.
type lack struct {
	errand // with no method where it is the opening itself
	knock
}

var withLessScopeKey = check.NewKey[[]lack]("with less scope")

// lacks returns what a token with less scope than the good one is refused.
func lacks(t *check.T) []lack {
	nobody(t)
	narrow := t.Auth().Token(check.TokenNarrow)
	all := check.Once(t, withLessScopeKey, func() []lack {
		var out []lack
		if k := firstWords(t, "the first words", withToken(narrow)); !k.served() {
			return []lack{{errand{}, k}}
		}
		lesser, err := t.Sessions().TryUser(narrow)
		if err != nil {
			return nil
		}
		for _, e := range errands(t) {
			if k := e.run(lesser); !k.served() {
				out = append(out, lack{e, k})
			}
		}
		lesser.Sessions().Leave()
		return out
	})
	if len(all) == 0 {
		t.NotObserved("a token with less scope was refused nothing that was tried", "")
	}
	return all
}

// forbidden returns what was refused with 403.
func forbidden(t *check.T) []lack {
	out := slices.DeleteFunc(slices.Clone(lacks(t)), func(l lack) bool { return l.x.Status != http.StatusForbidden })
	if len(out) == 0 {
		t.NotObserved("nothing was refused with status 403", "")
	}
	return out
}

// tokenClaim reads a claim of a JSON Web Token, "" where there is none.
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
