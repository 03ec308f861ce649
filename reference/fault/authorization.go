package fault

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// authorizationFaults are the faults of basic/authorization.
func authorizationFaults() []Fault {
	withUsers := slices.Concat(acceptedTokens(), refusedTokens(), challenges(), resourceMetadataFaults(), scopes(),
		hostedServers(), tokensOfUsers(), sharedState())
	return append(protected(withUsers...), overHTTP(tasksOfClients()...)...)
}

// acceptedTokens are tokens that the server accepts and must not, or the reverse.
func acceptedTokens() []Fault {
	return []Fault{
		{
			Name: "any-token-served", Does: "accepts any text as a token",
			CaughtBy: []string{"authorization.token.validated"},
			Also:     map[string]string{"authorization.token.forged": "a forged token is a text too"},
			Apply:    admitDespite(server.RefusedUnknown, anyRefusal),
		},
		{
			Name: "token-signature-unverified", Does: "accepts any JSON Web Token without verifying its signature",
			CaughtBy: []string{"authorization.token.forged"},
			Apply: admitDespite(server.RefusedUnknown, func(_ *http.Request, refusal *server.Refusal) bool {
				return isJWT(refusal.Token)
			}),
		},
		{
			Name: "expired-token-served", Does: "accepts expired tokens",
			CaughtBy: []string{"authorization.token.expired"},
			Apply:    admitDespite(server.RefusedExpired, anyRefusal),
		},
		{
			Name: "malformed-token-served", Does: "accepts a header Authorization without a token",
			CaughtBy: []string{"authorization.malformed.status"},
			Apply:    admitDespite(server.RefusedMalformed, anyRefusal),
		},
		{
			Name: "query-token-served", Does: "accepts a token in the query of the URL",
			CaughtBy: []string{"authorization.query.refused"},
			Apply: onAdmit(func(next server.Authorizer) server.Authorizer {
				return func(r *http.Request) (server.Grant, *server.Refusal) {
					if token := r.URL.Query().Get("access_token"); token != "" {
						r = r.Clone(r.Context())
						r.Header.Set("Authorization", "Bearer "+token)
					}
					return next(r)
				}
			}),
		},
		{
			Name: "audience-unchecked", Does: "accepts tokens that were issued for another server",
			CaughtBy: []string{"authorization.audience.refused"},
			Apply:    admitDespite(server.RefusedAudience, anyRefusal),
		},
		{
			Name: "audience-case-sensitive", Does: "refuses a token whose audience has scheme and host in upper case",
			CaughtBy: []string{"authorization.audience.case"},
			Apply:    onDecision(refuseUpperCaseAudience),
		},
		{
			Name: "scope-hierarchy-ignored", Does: "does not know that the broad scope implies the others",
			CaughtBy: []string{"authorization.scope.hierarchy"},
			Apply:    onDecision(withoutBroadScope),
		},
	}
}

// refuseUpperCaseAudience refuses tokens whose audience has its scheme in upper case.
func refuseUpperCaseAudience(_ *http.Request, g server.Grant, refusal *server.Refusal) (server.Grant, *server.Refusal) {
	if refusal != nil || !strings.HasPrefix(g.Audience[0], "HTTP") {
		return g, refusal
	}
	return server.Grant{}, &server.Refusal{
		Status: http.StatusUnauthorized, Reason: server.RefusedAudience, Code: "invalid_token",
		Description: "Not for this server",
	}
}

// withoutBroadScope grants what a token has without the scope that implies others.
func withoutBroadScope(_ *http.Request, g server.Grant, refusal *server.Refusal) (server.Grant, *server.Refusal) {
	g.Scopes = slices.DeleteFunc(slices.Clone(g.Scopes), func(s string) bool { return s == server.ScopeAll })
	return g, refusal
}

// isJWT reports whether a token is a JSON Web Token.
func isJWT(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	return err == nil && json.Valid(claims)
}

// refusedTokens are faults in how requests without a valid token are refused.
func refusedTokens() []Fault {
	return []Fault{
		{
			Name: "missing-token-403", Does: "refuses a request without a token with status 403",
			CaughtBy: []string{"authorization.missing.status"},
			Apply:    refuseWithStatus(http.StatusForbidden, server.RefusedMissing),
		},
		{
			Name: "invalid-token-403", Does: "refuses an invalid token with status 403",
			CaughtBy: []string{"authorization.invalid.status"},
			Apply:    refuseWithStatus(http.StatusForbidden, server.RefusedUnknown, server.RefusedExpired),
		},
		{
			Name: "expired-token-400", Does: "refuses an expired token with status 400",
			CaughtBy: []string{"authorization.invalid.status"},
			Apply:    refuseWithStatus(http.StatusBadRequest, server.RefusedExpired),
		},
		{
			Name: "unknown-token-500", Does: "refuses an unknown token with status 500",
			CaughtBy: []string{"authorization.invalid.status"},
			Apply:    refuseWithStatus(http.StatusInternalServerError, server.RefusedUnknown),
		},
		{
			Name: "invalid-token-misnamed", Does: "refuses an invalid token with the error invalid_request",
			CaughtBy: []string{"authorization.invalid.error"},
			Apply:    refuseWithCode("invalid_request", server.RefusedUnknown),
		},
		{
			Name: "expired-token-misnamed", Does: "refuses an expired token with the error insufficient_scope",
			CaughtBy: []string{"authorization.invalid.error"},
			Apply:    refuseWithCode("insufficient_scope", server.RefusedExpired),
		},
		{
			Name: "malformed-token-500", Does: "refuses a header Authorization without a token with status 500",
			CaughtBy: []string{"authorization.malformed.status"},
			Apply:    refuseWithStatus(http.StatusInternalServerError, server.RefusedMalformed),
		},
		{
			Name: "refused-with-result", Does: "refuses a request without a token with the result in the body",
			CaughtBy: []string{"authorization.refused.no-result"},
			Apply: onUnauthorizedBody(func(m wire.Message) server.Object {
				result := complete(server.Object{"tools": []any{}})
				return server.Object{"jsonrpc": "2.0", "id": json.RawMessage(m.ID().Raw), "result": result}
			}),
		},
		{
			Name:     "elicitation-for-authorization",
			Does:     "answers a request without a token by requiring an elicitation",
			CaughtBy: []string{"authorization.elicitation.url"},
			Apply: onUnauthorizedBody(func(m wire.Message) server.Object {
				return server.Object{"jsonrpc": "2.0", "id": json.RawMessage(m.ID().Raw), "error": server.Object{
					"code": spec.LegacyURLElicitationError, "message": "Log in first",
					"data": server.Object{"elicitations": []any{server.Object{
						"mode": "url", "elicitationId": "card", "message": "Log in",
						"url": "https://library.example/login",
					}}},
				}}
			}),
		},
	}
}

// refuseWithCode refuses tokens for the reason with another error code.
func refuseWithCode(code, reason string) apply {
	return onRefusal(func(refusal *server.Refusal) { refusal.Code = code }, reason)
}

// resourceMetadataFaults are faults of the protected resource metadata.
func resourceMetadataFaults() []Fault {
	const servers = "authorization_servers"
	published := func(name, does string, apply apply) Fault {
		return Fault{
			Name: name, Does: does, CaughtBy: []string{"authorization.metadata.published"},
			Also: map[string]string{
				"authorization.challenge.metadata": "the challenge names where the metadata should be",
			},
			Apply: apply,
		}
	}
	document := func(name, does, caughtBy string, edit func(document server.Object)) Fault {
		return newFault(name, does, caughtBy, onDocument(resourceMetadata, edit))
	}
	hasNoToken := func(r *http.Request) bool { return r.Header.Get("Authorization") == "" }
	return []Fault{
		published("resource-metadata-missing", "has no protected resource metadata",
			respondNotFound(atOrBelow(resourceMetadata))),
		published("resource-metadata-no-json", "sends a page as its protected resource metadata",
			respond(atOrBelow(resourceMetadata), http.StatusOK, "text/html", "<p>The library</p>")),
		published("resource-metadata-guarded", "requires a token for its protected resource metadata",
			respond(allOf(atOrBelow(resourceMetadata), hasNoToken), http.StatusUnauthorized, "", "")),
		document("authorization-servers-missing", "leaves authorization_servers out of its metadata",
			"authorization.metadata.servers", remove(servers)),
		document("authorization-servers-empty", "lists no authorization server in its metadata",
			"authorization.metadata.servers", set(servers, []any{})),
		document("authorization-server-no-url", "lists an authorization server that is not a URL",
			"authorization.metadata.servers", set(servers, []any{"library"})),
		document("resource-missing", "leaves resource out of its metadata", "authorization.metadata.resource",
			remove("resource")),
		document("resource-of-another", "names another server as the resource of its metadata",
			"authorization.metadata.resource", set("resource", "http://127.0.0.1:1/mcp")),
		document("authorization-server-http", "lists an authorization server at a URL of http",
			"authorization.metadata.https", set(servers, []any{"http://auth.example"})),
	}
}
