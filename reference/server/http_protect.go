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

// A Guard has a server over HTTP serve only who brings an access token that an
// authorization server issued for it (basic/authorization). The zero value, with
// an Authority, is the honest guard.
type Guard struct {
	// Authority is the authorization server that is trusted, and alone.
	Authority Authority
	// Hosted serves what the authorization server has, where it lives at the
	// origin of the server itself; nil where it lives elsewhere.
	Hosted http.Handler
	// For gives both once the server listens at an origin, where that is not known
	// before; nil where they are given.
	For func(origin string) (Authority, http.Handler)

	// The seams. Each wraps the honest part, is called once for the server, and
	// may be nil.

	// Admit tells what a request may do by its token, or why it is refused.
	Admit func(next Admitter) Admitter
	// Needs tells the scopes that a message needs.
	Needs func(next Needer) Needer
	// Bind tells whether a caller may use what was made for another.
	Bind func(next Binder) Binder
}

// An Authority is the authorization server as its resource server sees it.
type Authority interface {
	// Issuer identifies it (RFC 8414 section 2).
	Issuer() string
	// Verify returns what a token grants if the authority issued it, be it over
	// or for another server.
	Verify(token string) (Grant, error)
}

// A Grant is what an access token says.
type Grant struct {
	Subject  string   // for whom it was issued, "" for nobody
	Audience []string // the servers that it was issued for
	Scopes   []string
	Expires  time.Time
}

// The reasons to refuse a token.
const (
	RefusedMissing   = "missing"
	RefusedMalformed = "malformed"
	RefusedUnknown   = "unknown"  // not of the authority
	RefusedExpired   = "expired"  // and of the authority
	RefusedAudience  = "audience" // issued for another server
	RefusedScope     = "scope"
)

// A Refusal is why a request is not served.
type Refusal struct {
	Status int
	Reason string
	Code   string // error code of RFC 6750, "" for none
	Why    string
	Scopes []string // that are needed
	Token  string
	Grant  Grant // of a token of the authority
}

type (
	// An Admitter returns what a request may do, or why it is refused.
	Admitter func(r *http.Request) (Grant, *Refusal)
	// A Needer returns the scopes that a message, no batch, needs; what is no
	// message stands for a request without body.
	Needer func(m wire.Message) []string
	// A Binder tells whether a caller may use what belongs to an owner: a
	// session, a task or a requestState. Both are subjects, "" for nobody.
	Binder func(what, owner, caller string) bool
)

// What a Binder is asked about.
const (
	BoundSession = "session"
	BoundTask    = "task"
	BoundState   = "state"
)

// The scopes of the library. The broad one implies the others.
const (
	ScopeEnter = "library:enter" // to open a session and end it
	ScopeRead  = "library:read"  // to look things up
	ScopeDesk  = "library:desk"  // to have something done
	ScopeAll   = "library"
)

const (
	wellKnownResource = "/.well-known/oauth-protected-resource"
	grantKey          = contextKey("grant")
)

type contextKey string

// needs is the honest Needer.
func needs(m wire.Message) []string {
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

// binds is the honest Binder: what belongs to one is of no use to another.
func isSameUser(_, owner, caller string) bool { return owner == caller }

// A protection is the guard of a server with its seams in place.
type authorization struct {
	guard     *Guard
	hosts     []string // the names of Options.HTTP.Hosts
	authorize Admitter
	needs     Needer
	mayUse    Binder
}

func newAuthorization(g *Guard, hosts []string) *authorization {
	if g == nil {
		return nil
	}
	p := &authorization{guard: g, hosts: hosts}
	p.authorize = wrapped[Admitter](p.authorizeByToken, g.Admit)
	p.needs = wrapped[Needer](needs, g.Needs)
	p.mayUse = wrapped[Binder](isSameUser, g.Bind)
	return p
}

// owned tells whether a caller may use what belongs to an owner. Where nobody is
// told apart everybody may.
func (p *authorization) isUsableBy(what, owner, caller string) bool {
	return p == nil || p.mayUse(what, owner, caller)
}

// enter serves what needs no token, and lets in who has one: it returns the
// request with what its token grants, nil if it was answered.
func (p *authorization) authenticate(w http.ResponseWriter, r *http.Request) *http.Request {
	if p == nil {
		return r
	}
	switch path := r.URL.Path; {
	case path == wellKnownResource+pathMCP, path == wellKnownResource+pathSSE:
		p.serveMetadata(w, r)
		return nil
	case path != pathMCP && path != pathSSE && path != pathMessages:
		if p.guard.Hosted != nil {
			p.guard.Hosted.ServeHTTP(w, r)
			return nil
		}
		return r
	}
	grant, refusal := p.authorize(r)
	if refusal != nil {
		p.challenge(w, r, refusal)
		return nil
	}
	return r.WithContext(context.WithValue(r.Context(), grantKey, grant))
}

// challenge refuses a request, with what the client needs to do better
// (basic/authorization#error-handling, RFC 6750 section 3).
func (p *authorization) challenge(w http.ResponseWriter, r *http.Request, f *Refusal) {
	parts := []string{fmt.Sprintf("resource_metadata=%q", p.calledOrigin(r)+wellKnownResource+endpointPath(r))}
	if len(f.Scopes) > 0 {
		parts = append(parts, fmt.Sprintf("scope=%q", strings.Join(f.Scopes, " ")))
	}
	if f.Code != "" {
		parts = append(parts, fmt.Sprintf("error=%q", f.Code), fmt.Sprintf("error_description=%q", f.Why))
	}
	w.Header().Set("WWW-Authenticate", "Bearer "+strings.Join(parts, ", "))
	refuseHTTP(w, f.Status, "%s", f.Why)
}

// admitted is the honest Admitter: the token stands in the header alone
// (basic/authorization#token-requirements), is of the authority, is not over,
// and was issued for this server (basic/authorization#token-handling).
func (p *authorization) authorizeByToken(r *http.Request) (Grant, *Refusal) {
	basic := []string{ScopeEnter, ScopeRead}
	token, given, err := bearerToken(r)
	switch {
	case err != nil:
		return Grant{}, &Refusal{Status: http.StatusBadRequest, Reason: RefusedMalformed, Code: "invalid_request", Why: err.Error(), Scopes: basic}
	case !given:
		return Grant{}, &Refusal{Status: http.StatusUnauthorized, Reason: RefusedMissing, Why: "An access token is needed", Scopes: basic}
	}
	refuse := func(reason, why string, g Grant) (Grant, *Refusal) {
		return Grant{}, &Refusal{Status: http.StatusUnauthorized, Reason: reason, Code: "invalid_token", Why: why, Scopes: basic, Token: token, Grant: g}
	}
	grant, err := p.guard.Authority.Verify(token)
	switch {
	case err != nil:
		return refuse(RefusedUnknown, "The access token is not one of the authorization server", Grant{})
	case !slices.ContainsFunc(grant.Audience, func(a string) bool { return p.isOwnAudience(r, a) }):
		return refuse(RefusedAudience, "The access token was not issued for this server", grant)
	case !time.Now().Before(grant.Expires):
		return refuse(RefusedExpired, "The access token has expired", grant)
	}
	return grant, nil
}

// bearer returns the token in the header of a request. One of another scheme is
// no token.
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

// notOfToken tells which characters no token has (RFC 6750 section 2.1).
func isNoTokenCharacter(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~+/=", r))
}

// permits tells whether the token of a request suffices for a message, and else
// refuses it, naming all that is needed
// (basic/authorization#runtime-insufficient-scope-errors).
func (p *authorization) checkScopes(w http.ResponseWriter, r *http.Request, m wire.Message) bool {
	if p == nil {
		return true
	}
	var needed []string
	for _, part := range m.Elements() {
		for _, scope := range p.needs(part) {
			if !slices.Contains(needed, scope) {
				needed = append(needed, scope)
			}
		}
	}
	if grant := grantOf(r); slices.ContainsFunc(needed, func(scope string) bool { return !grant.covers(scope) }) {
		p.challenge(w, r, &Refusal{Status: http.StatusForbidden, Reason: RefusedScope, Code: "insufficient_scope", Why: "The access token does not reach as far as this", Scopes: needed})
		return false
	}
	return true
}

// covers tells whether a grant holds a scope, or a broader one that implies it
// (basic/authorization#step-up-authorization-flow).
func (g Grant) covers(scope string) bool {
	return slices.ContainsFunc(g.Scopes, func(held string) bool {
		return held == scope || strings.HasPrefix(scope, held+":")
	})
}

// grantOf returns what the token of a request grants; the zero Grant where no
// token is needed.
func grantOf(r *http.Request) Grant {
	g, _ := r.Context().Value(grantKey).(Grant)
	return g
}

// principal is who sent a request, "" where nobody is told apart.
func (r *Request) user() string {
	if r.exchange == nil {
		return ""
	}
	return r.exchange.subject
}

// owns tells whether what belongs to an owner is of use to the sender of a
// request.
func (r *Request) owns(what, owner string) bool {
	return r.exchange == nil || r.exchange.authorization.isUsableBy(what, owner, r.user())
}
