package fault

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// The revisions that have authorization; that bind tokens to servers; that have
// challenges for scope (basic/authorization of each).
var (
	guarding = spec.Since(spec.V2025_03_26)
	audience = spec.Since(spec.V2025_06_18)
	scoping  = spec.Since(spec.V2025_11_25)
)

// authorization are the faults of a protected server.
func authorization() []Fault {
	all := slices.Concat(tokenFaults(), challengeFaults(), metadataFaults(), scopeFaults(), hostFaults(), userFaults())
	for i := range all {
		all[i].Over, all[i].Protected = transport.HTTP, true
	}
	return append(all, anonymousFaults()...)
}

// tokenFaults are about which tokens are taken, and how others are refused.
func tokenFaults() []Fault {
	return []Fault{
		{
			Name: "missing-token-403", Does: "answers a request without a token with status 403",
			CaughtBy: []string{"authorization.missing.status"},
			Apply:    onGuardRefusal(func(f *server.Refusal) { f.Status = http.StatusForbidden }, server.RefusedMissing),
		},
		{
			Name: "any-token-served", Does: "takes any text for a token of its first user",
			CaughtBy: []string{"authorization.token.validated"},
			Also:     map[string]string{"authorization.token.forged": "a forged token is a text too"},
			Apply:    inspite(server.RefusedUnknown, always),
		},
		{
			Name: "token-signature-unverified", Does: "believes the claims of any JSON Web Token",
			CaughtBy: []string{"authorization.token.forged"},
			Apply:    inspite(server.RefusedUnknown, func(_ *http.Request, f *server.Refusal) bool { return isJWT(f.Token) }),
		},
		{
			Name: "expired-token-served", Does: "does not look at when a token expires",
			CaughtBy: []string{"authorization.token.expired"},
			Apply:    inspite(server.RefusedExpired, always),
		},
		{
			Name: "invalid-token-403", Does: "answers a request with an invalid token with status 403",
			CaughtBy: []string{"authorization.invalid.status"},
			Apply:    onGuardRefusal(func(f *server.Refusal) { f.Status = http.StatusForbidden }, server.RefusedUnknown, server.RefusedExpired),
		},
		{
			Name: "expired-token-400", Does: "answers a request with an expired token with status 400",
			CaughtBy: []string{"authorization.invalid.status"},
			Apply:    onGuardRefusal(func(f *server.Refusal) { f.Status = http.StatusBadRequest }, server.RefusedExpired),
		},
		{
			Name: "unknown-token-500", Does: "answers a request with a token that cannot be read with status 500",
			CaughtBy: []string{"authorization.invalid.status"},
			Apply:    onGuardRefusal(func(f *server.Refusal) { f.Status = http.StatusInternalServerError }, server.RefusedUnknown),
		},
		{
			Name: "invalid-token-misnamed", Does: "names an invalid token an invalid request in its challenge",
			CaughtBy: []string{"authorization.invalid.error"},
			Apply:    onGuardRefusal(func(f *server.Refusal) { f.Code = "invalid_request" }, server.RefusedUnknown),
		},
		{
			Name: "expired-token-misnamed", Does: "names an expired token insufficient scope in its challenge",
			CaughtBy: []string{"authorization.invalid.error"},
			Apply:    onGuardRefusal(func(f *server.Refusal) { f.Code = "insufficient_scope" }, server.RefusedExpired),
		},
		{
			Name: "malformed-token-500", Does: "answers a header Authorization without a token with status 500",
			CaughtBy: []string{"authorization.malformed.status"},
			Apply:    onGuardRefusal(func(f *server.Refusal) { f.Status = http.StatusInternalServerError }, server.RefusedMalformed),
		},
		{
			Name: "malformed-token-served", Does: "takes a header Authorization without a token for its first user",
			CaughtBy: []string{"authorization.malformed.status"},
			Apply:    inspite(server.RefusedMalformed, always),
		},
		{
			Name: "query-token-served", Does: "takes a token from the query of the URL",
			CaughtBy: []string{"authorization.query.refused"},
			Apply: onAdmit(func(next server.Admitter) server.Admitter {
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
			Name: "audience-unchecked", Does: "takes tokens that were issued for another server",
			CaughtBy: []string{"authorization.audience.refused"},
			Apply:    inspite(server.RefusedAudience, always),
		},
		{
			Name: "audience-case-sensitive", Does: "refuses a token whose audience has scheme and host in upper case",
			CaughtBy: []string{"authorization.audience.case"},
			Apply: onAdmit(func(next server.Admitter) server.Admitter {
				return func(r *http.Request) (server.Grant, *server.Refusal) {
					grant, refusal := next(r)
					if refusal == nil && strings.HasPrefix(grant.Audience[0], "HTTP") {
						return server.Grant{}, &server.Refusal{Status: http.StatusUnauthorized, Reason: server.RefusedAudience, Code: "invalid_token", Why: "Not for this server"}
					}
					return grant, refusal
				}
			}),
		},
		{
			Name: "refused-with-result", Does: "refuses who brings no token with the result in the answer",
			CaughtBy: []string{"authorization.refused.silent"},
			Apply: onRefused(func(m wire.Message) []byte {
				return encode(server.Object{"jsonrpc": "2.0", "id": json.RawMessage(m.ID().Raw), "result": complete(server.Object{"tools": []any{}})})
			}),
		},
	}
}

func isJWT(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	return err == nil && json.Valid(claims)
}

// challengeFaults are about the header WWW-Authenticate.
func challengeFaults() []Fault {
	return []Fault{
		{
			Name: "challenge-missing", Does: "refuses an invalid token without a challenge",
			CaughtBy: []string{"authorization.challenge.bearer"},
			Apply: onChallenge(func(r *http.Request, status int, h http.Header) int {
				if r.Header.Get("Authorization") != "" && status == http.StatusUnauthorized {
					h.Del(challengeField)
				}
				return status
			}),
		},
		{
			Name: "challenge-basic", Does: "challenges an invalid token by the scheme Basic",
			CaughtBy: []string{"authorization.challenge.bearer"},
			Apply: onChallenge(func(r *http.Request, status int, h http.Header) int {
				if r.Header.Get("Authorization") != "" && status == http.StatusUnauthorized {
					h.Set(challengeField, `Basic realm="library"`)
				}
				return status
			}),
		},
		{
			Name: "challenge-without-metadata", Does: "does not name the protected resource metadata in its challenge",
			CaughtBy: []string{"authorization.challenge.metadata"},
			Apply:    onChallengeText(http.StatusUnauthorized, withoutParam("resource_metadata")),
		},
		{
			Name: "challenge-metadata-elsewhere", Does: "names a URL for the protected resource metadata where none is",
			CaughtBy: []string{"authorization.challenge.metadata"},
			Apply: onChallengeText(http.StatusUnauthorized, func(text string) string {
				return strings.Replace(text, resourceMetadata, "/no-such-metadata", 1)
			}),
		},
		{
			Name: "challenge-without-scope", Does: "does not name the scopes that are needed in its challenge",
			CaughtBy: []string{"authorization.challenge.scope"},
			Apply:    onChallengeText(http.StatusUnauthorized, withoutParam("scope")),
		},
		{
			Name: "challenge-scope-varies", Does: "names other scopes in every other challenge",
			CaughtBy: []string{"authorization.challenge.consistent"},
			Apply: func(o *server.Options) {
				var turn atomic.Int64
				onChallengeText(http.StatusUnauthorized, func(text string) string {
					if turn.Add(1)%2 == 0 {
						return text
					}
					return strings.Replace(text, server.ScopeRead, server.ScopeDesk, 1)
				})(o)
			},
		},
		{
			Name: "challenge-offline", Does: "asks for offline_access in its challenge",
			CaughtBy: []string{"authorization.challenge.offline"},
			Apply: onChallengeText(http.StatusUnauthorized, func(text string) string {
				return strings.Replace(text, server.ScopeRead, server.ScopeRead+" offline_access", 1)
			}),
		},
		{
			Name: "metadata-offline", Does: "lists offline_access among the scopes of its metadata",
			CaughtBy: []string{"authorization.challenge.offline"},
			Apply:    onDocument(resourceMetadata, func(o server.Object) { o["scopes_supported"] = []any{server.ScopeRead, "offline_access"} }),
		},
		{
			Name: "page-for-authorization", Does: "sends who brings no token to a page by an elicitation",
			CaughtBy: []string{"elicitation.url.authorization"},
			Apply: onRefused(func(m wire.Message) []byte {
				return encode(server.Object{"jsonrpc": "2.0", "id": json.RawMessage(m.ID().Raw), "error": server.Object{
					"code": spec.LegacyURLElicitationError, "message": "Show your card first",
					"data": server.Object{"elicitations": []any{server.Object{"mode": "url", "elicitationId": "card", "url": "https://library.example/login", "message": "Show your card"}}},
				}})
			}),
		},
	}
}

// metadataFaults are about the protected resource metadata.
func metadataFaults() []Fault {
	named := map[string]string{"authorization.challenge.metadata": "the challenge names where it should be"}
	return []Fault{
		{
			Name: "resource-metadata-missing", Does: "has no protected resource metadata",
			CaughtBy: []string{"authorization.metadata.published"}, Also: named,
			Apply: atPath(resourceMetadata, func(_ http.Handler, w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }),
		},
		{
			Name: "resource-metadata-no-json", Does: "answers a request for its protected resource metadata with a page",
			CaughtBy: []string{"authorization.metadata.published"}, Also: named,
			Apply: atPath(resourceMetadata, func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write([]byte("<p>The library</p>")) // who cannot be written to has left
			}),
		},
		{
			Name: "resource-metadata-guarded", Does: "asks for a token before it shows its protected resource metadata",
			CaughtBy: []string{"authorization.metadata.published"}, Also: named,
			Apply: atPath(resourceMetadata, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			Name: "authorization-servers-missing", Does: "names no authorization server in its metadata",
			CaughtBy: []string{"authorization.metadata.servers"},
			Apply:    onDocument(resourceMetadata, func(o server.Object) { delete(o, "authorization_servers") }),
		},
		{
			Name: "authorization-servers-empty", Does: "names an empty list of authorization servers in its metadata",
			CaughtBy: []string{"authorization.metadata.servers"},
			Apply:    onDocument(resourceMetadata, func(o server.Object) { o["authorization_servers"] = []any{} }),
		},
		{
			Name: "authorization-server-no-url", Does: "names its authorization server by a word",
			CaughtBy: []string{"authorization.metadata.servers"},
			Apply:    onDocument(resourceMetadata, func(o server.Object) { o["authorization_servers"] = []any{"library"} }),
		},
		{
			Name: "resource-missing", Does: "leaves resource out of its metadata",
			CaughtBy: []string{"authorization.metadata.resource"},
			Apply:    onDocument(resourceMetadata, func(o server.Object) { delete(o, "resource") }),
		},
		{
			Name: "resource-of-another", Does: "names another server as the resource of its metadata",
			CaughtBy: []string{"authorization.metadata.resource"},
			Apply:    onDocument(resourceMetadata, func(o server.Object) { o["resource"] = "http://127.0.0.1:1/mcp" }),
		},
		{
			Name: "authorization-server-http", Does: "names an authorization server that is reached over http",
			CaughtBy: []string{"authorization.metadata.https"},
			Apply:    onDocument(resourceMetadata, func(o server.Object) { o["authorization_servers"] = []any{"http://auth.example"} }),
		},
	}
}

// scopeFaults are about tokens with less scope, or more, than is needed.
func scopeFaults() []Fault {
	return []Fault{
		{
			Name: "scope-401", Does: "answers a request whose token lacks scope with status 401",
			CaughtBy: []string{"authorization.scope.status"},
			Apply: onChallenge(func(_ *http.Request, status int, _ http.Header) int {
				if status == http.StatusForbidden {
					return http.StatusUnauthorized
				}
				return status
			}),
		},
		{
			Name: "scope-challenge-missing", Does: "refuses a token that lacks scope without a challenge",
			CaughtBy: []string{"authorization.scope.challenge"},
			Apply: onChallenge(func(_ *http.Request, status int, h http.Header) int {
				if status == http.StatusForbidden {
					h.Del(challengeField)
				}
				return status
			}),
		},
		{
			Name: "scope-challenge-without-scope", Does: "does not name the scopes that a token lacks",
			CaughtBy: []string{"authorization.scope.challenge"},
			Apply:    onChallengeText(http.StatusForbidden, withoutParam("scope")),
		},
		{
			Name: "scope-challenge-invalid-token", Does: "names a token that lacks scope an invalid one",
			CaughtBy: []string{"authorization.scope.challenge"},
			Apply:    onChallengeText(http.StatusForbidden, func(text string) string { return strings.Replace(text, "insufficient_scope", "invalid_token", 1) }),
		},
		{
			Name: "scope-challenge-in-steps", Does: "names one of the scopes that a token lacks at a time",
			CaughtBy: []string{"authorization.scope.sufficient"},
			Apply:    onChallengeText(http.StatusForbidden, func(text string) string { return strings.Replace(text, " "+server.ScopeDesk, "", 1) }),
		},
		{
			Name: "scope-hierarchy-ignored", Does: "does not know that the broad scope implies the others",
			CaughtBy: []string{"authorization.scope.hierarchy"},
			Apply: onAdmit(func(next server.Admitter) server.Admitter {
				return func(r *http.Request) (server.Grant, *server.Refusal) {
					grant, refusal := next(r)
					grant.Scopes = slices.DeleteFunc(slices.Clone(grant.Scopes), func(s string) bool { return s == server.ScopeAll })
					return grant, refusal
				}
			}),
		},
	}
}
