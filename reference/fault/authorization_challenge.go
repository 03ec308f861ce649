package fault

import (
	"net/http"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// challenges are faults of the header WWW-Authenticate.
func challenges() []Fault {
	text := func(name, does, caughtBy string, edit func(challenge string) string) Fault {
		return newFault(name, does, caughtBy, onChallengeText(http.StatusUnauthorized, edit))
	}
	ofInvalid := func(edit func(h http.Header)) apply {
		return onChallenge(func(r *http.Request, status int, h http.Header) int {
			if r.Header.Get("Authorization") != "" && status == http.StatusUnauthorized {
				edit(h)
			}
			return status
		})
	}
	return []Fault{
		{
			Name: "challenge-missing", Does: "refuses an invalid token without a challenge",
			CaughtBy: []string{"authorization.challenge.bearer"},
			Apply:    ofInvalid(func(h http.Header) { h.Del(challengeField) }),
		},
		{
			Name: "challenge-basic", Does: "refuses an invalid token with a challenge of the scheme Basic",
			CaughtBy: []string{"authorization.challenge.bearer"},
			Apply:    ofInvalid(func(h http.Header) { h.Set(challengeField, `Basic realm="library"`) }),
		},
		text("challenge-without-metadata", "leaves resource_metadata out of its challenge",
			"authorization.challenge.metadata",
			withoutParam("resource_metadata")),
		text("challenge-metadata-elsewhere", "names a URL without metadata in its challenge",
			"authorization.challenge.metadata",
			replaceInChallenge(resourceMetadata, "/no-such-metadata")),
		text("challenge-without-scope", "leaves scope out of its challenge", "authorization.challenge.scope",
			withoutParam("scope")),
		{
			Name: "challenge-scope-varies", Does: "names another scope in every second challenge",
			CaughtBy: []string{"authorization.challenge.consistent"},
			Apply: func(o *server.Options) {
				var n atomic.Int64
				onChallengeText(http.StatusUnauthorized, func(challenge string) string {
					if n.Add(1)%2 == 0 {
						return challenge
					}
					return replaceInChallenge(server.ScopeRead, server.ScopeDesk)(challenge)
				})(o)
			},
		},
		text("challenge-offline", "requests offline_access in its challenge", "authorization.challenge.offline",
			replaceInChallenge(server.ScopeRead, server.ScopeRead+" offline_access")),
		{
			Name: "metadata-offline", Does: "lists offline_access among the scopes of its metadata",
			CaughtBy: []string{"authorization.challenge.offline"},
			Apply:    onDocument(resourceMetadata, set("scopes_supported", []any{server.ScopeRead, "offline_access"})),
		},
	}
}

// scopes are faults in the answers to tokens without the required scope.
func scopes() []Fault {
	text := func(name, does, caughtBy string, edit func(challenge string) string) Fault {
		return newFault(name, does, caughtBy, onChallengeText(http.StatusForbidden, edit))
	}
	return []Fault{
		{
			Name: "scope-401", Does: "refuses a token without the required scope with status 401",
			CaughtBy: []string{"authorization.scope.status"},
			Apply: onChallenge(func(_ *http.Request, status int, _ http.Header) int {
				if status == http.StatusForbidden {
					return http.StatusUnauthorized
				}
				return status
			}),
		},
		{
			Name: "scope-challenge-missing", Does: "refuses a token without the required scope without a challenge",
			CaughtBy: []string{"authorization.scope.challenge"},
			Apply: onChallenge(func(_ *http.Request, status int, h http.Header) int {
				if status == http.StatusForbidden {
					h.Del(challengeField)
				}
				return status
			}),
		},
		text("scope-challenge-without-scope", "does not name the scopes that a token lacks",
			"authorization.scope.challenge",
			withoutParam("scope")),
		text("scope-challenge-invalid-token", "refuses a token without the required scope with the error invalid_token",
			"authorization.scope.challenge", replaceInChallenge("insufficient_scope", "invalid_token")),
		text("scope-challenge-in-steps", "names only one of the scopes that a token lacks",
			"authorization.scope.sufficient",
			replaceInChallenge(" "+server.ScopeDesk, "")),
	}
}
