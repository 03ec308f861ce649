package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// AuthorizationOptions make a server over HTTP require an access token that an authorization
// server issued for it (basic/authorization). The zero value, with an Authority, is
// the conforming one.
type AuthorizationOptions struct {
	// Authority is the authorization server that is trusted.
	Authority Authority
	// Hosted serves the endpoints of the authorization server if it has the origin
	// of the server itself; nil if it is elsewhere.
	Hosted http.Handler
	// AtOrigin returns Authority and Hosted once the server listens at an origin, if they
	// depend on it; nil if they are given.
	AtOrigin func(origin string) (Authority, http.Handler)

	// The hooks. Each wraps the conforming part, is called once for the server, and
	// may be nil.

	// Authorize returns what a request may do by its token, or why it is refused.
	Authorize func(next Authorizer) Authorizer
	// MayUse reports whether a user may use what belongs to another.
	MayUse func(next OwnerCheck) OwnerCheck
}

// An Authority is an authorization server as its resource server sees it.
type Authority interface {
	// Issuer identifies it (RFC 8414 section 2).
	Issuer() string
	// Verify returns what a token grants if the authority issued it, even if it has
	// expired or is for another server.
	Verify(token string) (Grant, error)
}

// A Grant is what an access token says.
type Grant struct {
	Subject  string   // the user it was issued for, "" for none
	Audience []string // the servers that it was issued for
	Scopes   []string
	Expires  time.Time
}

// The reasons to refuse a token.
const (
	RefusedMissing   = "missing"
	RefusedMalformed = "malformed"
	RefusedUnknown   = "unknown"  // not issued by the authority
	RefusedExpired   = "expired"  // but issued by the authority
	RefusedAudience  = "audience" // issued for another server
	RefusedScope     = "scope"
)

// A Refusal is why a request is not served.
type Refusal struct {
	Status      int
	Reason      string
	Code        string // error code of RFC 6750, "" for none
	Description string
	Scopes      []string // the scopes that are required
	Token       string
	Grant       Grant // of a token of the authority
}

type (
	// An Authorizer returns what a request may do, or why it is refused.
	Authorizer func(r *http.Request) (Grant, *Refusal)
	// An OwnerCheck reports whether a user may use what belongs to an owner: a session, a
	// task or a requestState. Both are subjects of tokens, "" for none.
	OwnerCheck func(what, owner, user string) bool
)

// The values of the first argument of an OwnerCheck.
const (
	OwnedSession = "session"
	OwnedTask    = "task"
	OwnedState   = "state"
)

// The scopes of the server. The broad one implies the others.
const (
	ScopeEnter = "library:enter" // to open a session and end it
	ScopeRead  = "library:read"  // to list and read
	ScopeDesk  = "library:desk"  // to call tools
	ScopeAll   = "library"
)

const (
	wellKnownResource = "/.well-known/oauth-protected-resource"
	grantKey          = contextKey("grant")
)

type contextKey string

// requiredScopes returns the scopes that a message, but no batch, requires. A
// message that is none stands for a request without body.
func requiredScopes(m wire.Message) []string {
	switch {
	case m.Kind != wire.Request:
		return []string{ScopeEnter}
	case slices.Contains([]string{"initialize", "ping", "server/discover"}, m.Method()):
		return []string{ScopeEnter}
	case m.Method() == "tools/call":
		return []string{ScopeEnter, ScopeRead, ScopeDesk}
	}
	return []string{ScopeEnter, ScopeRead}
}

// isSameUser is the conforming OwnerCheck.
func isSameUser(_, owner, user string) bool { return owner == user }

// An authorization is AuthorizationOptions with the hooks applied. A nil one requires no tokens
// and does not distinguish users.
type authorization struct {
	guard     *AuthorizationOptions
	hosts     []string // of Options.HTTP.AllowedHosts
	authorize Authorizer
	mayUse    OwnerCheck
}

func newAuthorization(g *AuthorizationOptions, hosts []string) *authorization {
	if g == nil {
		return nil
	}
	a := &authorization{guard: g, hosts: hosts}
	a.authorize = wrapped[Authorizer](a.authorizeByToken, g.Authorize)
	a.mayUse = wrapped[OwnerCheck](isSameUser, g.MayUse)
	return a
}

// isUsableBy reports whether a user may use what belongs to an owner.
func (a *authorization) isUsableBy(what, owner, user string) bool {
	return a == nil || a.mayUse(what, owner, user)
}

// authenticate answers requests for endpoints that require no token, and requests
// without a valid one; it then returns nil. Otherwise it returns the request with
// what its token grants.
func (a *authorization) authenticate(w http.ResponseWriter, r *http.Request) *http.Request {
	if a == nil {
		return r
	}
	switch path := r.URL.Path; {
	case path == wellKnownResource+pathMCP, path == wellKnownResource+pathSSE:
		a.serveMetadata(w, r)
		return nil
	case path != pathMCP && path != pathSSE && path != pathMessages:
		if a.guard.Hosted != nil {
			a.guard.Hosted.ServeHTTP(w, r)
			return nil
		}
		return r
	}
	grant, refusal := a.authorize(r)
	if refusal != nil {
		a.challenge(w, r, refusal)
		return nil
	}
	return r.WithContext(context.WithValue(r.Context(), grantKey, grant))
}

// challenge refuses a request and names what the client needs to be served
// (basic/authorization#error-handling, RFC 6750 section 3).
func (a *authorization) challenge(w http.ResponseWriter, r *http.Request, f *Refusal) {
	parts := []string{fmt.Sprintf("resource_metadata=%q", a.calledOrigin(r)+wellKnownResource+endpointPath(r))}
	if len(f.Scopes) > 0 {
		parts = append(parts, fmt.Sprintf("scope=%q", strings.Join(f.Scopes, " ")))
	}
	if f.Code != "" {
		parts = append(parts, fmt.Sprintf("error=%q", f.Code), fmt.Sprintf("error_description=%q", f.Description))
	}
	w.Header().Set("WWW-Authenticate", "Bearer "+strings.Join(parts, ", "))
	refuseHTTP(w, f.Status, "%s", f.Description)
}

// authorizeByToken is the conforming Authorizer: the token is in the header alone
// (basic/authorization#token-requirements), the authority issued it for this
// server, and it has not expired (basic/authorization#token-handling).
func (a *authorization) authorizeByToken(r *http.Request) (Grant, *Refusal) {
	token, given, err := bearerToken(r)
	refuse := func(status int, reason, code, why string, g Grant) (Grant, *Refusal) {
		return Grant{}, &Refusal{
			Status: status, Reason: reason, Code: code, Description: why,
			Scopes: []string{ScopeEnter, ScopeRead}, Token: token, Grant: g,
		}
	}
	invalid := func(reason, why string, g Grant) (Grant, *Refusal) {
		return refuse(http.StatusUnauthorized, reason, "invalid_token", why, g)
	}
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, RefusedMalformed, "invalid_request", err.Error(), Grant{})
	case !given:
		return refuse(http.StatusUnauthorized, RefusedMissing, "", "An access token is needed", Grant{})
	}
	grant, err := a.guard.Authority.Verify(token)
	switch {
	case err != nil:
		return invalid(RefusedUnknown, "The access token is not one of the authorization server", Grant{})
	case !slices.ContainsFunc(grant.Audience, func(audience string) bool { return a.isOwnAudience(r, audience) }):
		return invalid(RefusedAudience, "The access token was not issued for this server", grant)
	case !time.Now().Before(grant.Expires):
		return invalid(RefusedExpired, "The access token has expired", grant)
	}
	return grant, nil
}

// bearerToken returns the token in the header of a request. Credentials of another
// scheme are no token.
func bearerToken(r *http.Request) (token string, given bool, err error) {
	values := r.Header.Values("Authorization")
	if len(values) > 1 {
		return "", true, errors.New("the header Authorization stands there more than once")
	}
	if len(values) == 0 {
		return "", false, nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false, nil
	}
	token = strings.TrimLeft(token, " ")
	if token == "" || strings.ContainsFunc(token, isNoTokenCharacter) {
		return "", true, errors.New("the header Authorization holds no access token")
	}
	return token, true, nil
}

// isNoTokenCharacter reports whether no token has a character (RFC 6750 section
// 2.1).
func isNoTokenCharacter(r rune) bool {
	isAlphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !isAlphanumeric && !strings.ContainsRune("-._~+/=", r)
}

// checkScopes reports whether the token of a request has the scopes that its
// message requires. If not, it refuses the request and names all of them
// (basic/authorization#runtime-insufficient-scope-errors).
func (a *authorization) checkScopes(w http.ResponseWriter, r *http.Request, m wire.Message) bool {
	if a == nil {
		return true
	}
	var required []string
	for _, part := range m.Elements() {
		for _, scope := range requiredScopes(part) {
			if !slices.Contains(required, scope) {
				required = append(required, scope)
			}
		}
	}
	grant := grantOf(r)
	if !slices.ContainsFunc(required, func(scope string) bool { return !grant.covers(scope) }) {
		return true
	}
	a.challenge(w, r, &Refusal{
		Status: http.StatusForbidden, Reason: RefusedScope, Code: "insufficient_scope",
		Description: "The access token does not reach as far as this", Scopes: required,
	})
	return false
}

// covers reports whether a grant holds a scope, or a broader one that implies it
// (basic/authorization#step-up-authorization-flow).
func (g Grant) covers(scope string) bool {
	return slices.ContainsFunc(g.Scopes, func(held string) bool {
		return held == scope || strings.HasPrefix(scope, held+":")
	})
}

// grantOf returns what the token of a request grants; the zero Grant if no token is
// required.
func grantOf(r *http.Request) Grant {
	g, _ := r.Context().Value(grantKey).(Grant)
	return g
}

// user returns the user who sent a request, "" if the server does not distinguish
// users.
func (r *Request) user() string {
	if r.exchange == nil {
		return ""
	}
	return r.exchange.subject
}

// owns reports whether the user who sent a request may use what belongs to an
// owner.
func (r *Request) owns(what, owner string) bool {
	return r.exchange == nil || r.exchange.authorization.isUsableBy(what, owner, r.user())
}
