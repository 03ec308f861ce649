package authserver

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"time"
)

// A grant is what a code or a refresh token stands for. It is kept after its use,
// so that a second use is noticed.
type grant struct {
	client, redirectURI, challenge string
	subject, resource, scope       string
	expires                        time.Time
	used                           bool
	authorization                  *authorization
}

// An authorization is shared by all grants that follow from one agreement of the
// user.
type authorization struct{ revoked bool }

// The lifetimes of what is exchanged for tokens.
const (
	codeLifetime         = time.Minute
	refreshTokenLifetime = time.Hour
)

// issue returns a new secret for a grant, and drops grants that have expired.
func (s *Server) issue(grants map[string]grant, g grant) (secret string) {
	secret = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, old := range grants {
		if len(grants) >= maxGrants || time.Now().After(old.expires) {
			delete(grants, key)
		}
	}
	grants[secret] = g
	return secret
}

// redeem returns the grant of a secret; ok is true for its first use only. A secret
// that is used again was stolen, by the first or by the second client: all grants of
// the authorization are revoked (OAuth 2.1 sections 4.1.3 and 4.3.1).
func (s *Server) redeem(grants map[string]grant, secret string) (g grant, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok = grants[secret]
	if !ok {
		return g, false
	}
	if g.used {
		g.authorization.revoked = true
	}
	ok = !g.used && !g.authorization.revoked && time.Now().Before(g.expires)
	g.used = true
	grants[secret] = g
	return g, ok
}

// serveToken exchanges a code or a refresh token. A code is exchanged for the client
// that proves to have requested it (RFC 7636 section 4.6), a refresh token once
// (OAuth 2.1 section 4.3.1).
func (s *Server) serveToken(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", "the body is no form")
		return
	}
	form := r.PostForm
	var g grant
	var ok bool
	switch form.Get("grant_type") {
	case "authorization_code":
		g, ok = s.redeem(s.codes, form.Get("code"))
		ok = ok && provesCode(form, g)
	case "refresh_token":
		g, ok = s.redeem(s.refreshTokens, form.Get("refresh_token"))
	default:
		const description = "there are authorization_code and refresh_token"
		writeError(w, http.StatusBadRequest, "unsupported_grant_type", description)
		return
	}
	resource := form.Get("resource")
	sameResource := resource == "" || g.resource == "" || resource == g.resource
	if !ok || form.Get("client_id") != g.client || !sameResource {
		const description = "it was not given to this client so, or has lapsed"
		writeError(w, http.StatusBadRequest, "invalid_grant", description)
		return
	}
	if g.resource == "" {
		g.resource = cmp.Or(resource, s.resource)
	}
	g.used, g.expires = false, time.Now().Add(refreshTokenLifetime)
	writeJSON(w, http.StatusOK, map[string]any{
		"access_token": sign(s.key, s.newClaims(g.subject, g.resource, g.scope, g.client, accessTokenLifetime)),
		"token_type":   "Bearer", "expires_in": int(accessTokenLifetime.Seconds()), "scope": g.scope,
		"refresh_token": s.issue(s.refreshTokens, g),
	})
}

// provesCode reports whether the client of a code proves to be the one that
// requested it. The redirect URI counts if it is given, as by clients of OAuth 2.0.
func provesCode(form url.Values, g grant) bool {
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	proof := base64.RawURLEncoding.EncodeToString(sum[:])
	if form.Has("redirect_uri") && form.Get("redirect_uri") != g.redirectURI {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(proof), []byte(g.challenge)) == 1
}
