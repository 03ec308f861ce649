package authserver

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// MintEndpoint is the member of the metadata that names the endpoint which mints
// tokens for tests. No other authorization server has it.
const MintEndpoint = "mcpcheck_mint_endpoint"

// A TokenKind is the kind of a minted token.
type TokenKind string

// The kinds of tokens. All except second are issued for the first user.
const (
	FirstUserToken         TokenKind = "first"
	SecondUserToken        TokenKind = "second"   // of another user
	ExpiredToken           TokenKind = "expired"  // an hour ago
	OtherAudienceToken     TokenKind = "audience" // issued for another server
	UntrustedKeyToken      TokenKind = "foreign"  // signed with a key that no server trusts
	NarrowScopeToken       TokenKind = "narrow"   // with fewer scopes than most requests require
	BroadScopeToken        TokenKind = "broad"    // with a broader scope that implies the required ones
	UpperCaseAudienceToken TokenKind = "upper"    // with the scheme and host of its audience in upper case
)

// TokenKinds returns the kinds of tokens.
func TokenKinds() []TokenKind {
	return []TokenKind{
		FirstUserToken,
		SecondUserToken,
		ExpiredToken,
		OtherAudienceToken,
		UntrustedKeyToken,
		NarrowScopeToken,
		BroadScopeToken,
		UpperCaseAudienceToken,
	}
}

// Mint returns a token for a server. If scope is "" it is the default of the kind;
// it is an error if there is none.
func (s *Server) Mint(kind TokenKind, resource, scope string) (string, error) {
	if scope == "" {
		scope = s.defaultScope(kind)
		if scope == "" && (kind == NarrowScopeToken || kind == BroadScopeToken) {
			return "", fmt.Errorf("mint a token: no scope is known that is %s", kind)
		}
	}
	c := s.newClaims(FirstUser, resource, scope, "mcpcheck", mintedTokenLifetime)
	key := s.key
	switch kind {
	case FirstUserToken, NarrowScopeToken, BroadScopeToken:
	case SecondUserToken:
		c.Subject = secondUser
	case ExpiredToken:
		before := time.Now().Add(-time.Hour)
		c.Issued, c.Expires = before.Add(-mintedTokenLifetime).Unix(), before.Unix()
	case OtherAudienceToken:
		c.Audience = "https://another.example/mcp"
	case UntrustedKeyToken:
		key = s.otherKey
	case UpperCaseAudienceToken:
		u, err := url.Parse(resource)
		if err != nil {
			return "", fmt.Errorf("mint a token: the resource: %w", err)
		}
		rest := strings.TrimPrefix(resource, u.Scheme+"://"+u.Host)
		c.Audience = strings.ToUpper(u.Scheme) + "://" + strings.ToUpper(u.Host) + rest
	default:
		return "", fmt.Errorf("mint a token: there is no kind %q", kind)
	}
	return sign(key, c), nil
}

func (s *Server) defaultScope(kind TokenKind) string {
	switch kind {
	case NarrowScopeToken:
		return s.scopes.Narrow
	case BroadScopeToken:
		return s.scopes.Broad
	}
	return s.scopes.Usual
}

// Tokens returns tokens for a server by their kinds, except those whose scope is not
// known.
func (s *Server) Tokens(resource string) map[string]string {
	out := map[string]string{}
	for _, kind := range TokenKinds() {
		if token, err := s.Mint(kind, resource, ""); err == nil {
			out[string(kind)] = token
		}
	}
	return out
}

// serveMint answers with a token of the kind that a form names.
func (s *Server) serveMint(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", "the body is no form")
		return
	}
	form := r.PostForm
	token, err := s.Mint(TokenKind(form.Get("kind")), form.Get("resource"), form.Get("scope"))
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer"})
}
