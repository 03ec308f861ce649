package authserver

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// A client is a registered public client.
type client struct {
	redirects []string
}

// A grant is what a code or a refresh token stands for. It is kept behind its
// use, so that another one is noticed.
type grant struct {
	client, redirect, challenge string
	subject, resource, scope    string
	until                       time.Time
	used                        bool
	family                      *family
}

// A family is all that came of one authorization.
type family struct{ revoked bool }

// The users.
const (
	FirstUser  = "ada"
	SecondUser = "ines"
)

// Lives of what is exchanged for tokens.
const (
	codeLife    = time.Minute
	refreshLife = time.Hour
)

// register takes a client (RFC 7591 section 3). Its redirect URIs are of the
// loopback interface or of https (basic/authorization#security-considerations,
// of 2025-03-26).
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Redirects []string `json:"redirect_uris"`
		Name      string   `json:"client_name"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_client_metadata", "the body is no JSON object of client metadata")
		return
	}
	for _, raw := range asked.Redirects {
		u, err := url.Parse(raw)
		if err != nil || u.Fragment != "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
			refuse(w, http.StatusBadRequest, "invalid_redirect_uri", "a redirect URI is of https or of the loopback interface")
			return
		}
	}
	if len(asked.Redirects) == 0 {
		refuse(w, http.StatusBadRequest, "invalid_redirect_uri", "redirect_uris is missing")
		return
	}
	id := rand.Text()
	s.mu.Lock()
	if len(s.registered) == maxClients {
		delete(s.clients, s.registered[0])
		s.registered = s.registered[1:]
	}
	s.clients[id] = client{asked.Redirects}
	s.registered = append(s.registered, id)
	s.mu.Unlock()
	write(w, http.StatusCreated, map[string]any{
		"client_id": id, "client_name": asked.Name, "redirect_uris": asked.Redirects, "client_id_issued_at": time.Now().Unix(),
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"}, "token_endpoint_auth_method": "none",
	})
}

// authorize gives a code at once, the user always agreeing. Whose redirect URI is
// not exactly one that was registered is not sent back to it; who registered one
// need not name it (OAuth 2.1 section 4.1.1).
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	c, known := s.clients[q.Get("client_id")]
	s.mu.Unlock()
	back := q.Get("redirect_uri")
	if !q.Has("redirect_uri") && len(c.redirects) == 1 {
		back = c.redirects[0]
	}
	if !known || !slices.Contains(c.redirects, back) {
		refuse(w, http.StatusBadRequest, "invalid_request", "the client or its redirect_uri is not registered")
		return
	}
	answer := url.Values{"iss": {s.issuer}}
	if q.Has("state") {
		answer.Set("state", q.Get("state"))
	}
	switch {
	case q.Get("response_type") != "code":
		answer.Set("error", "unsupported_response_type")
	case q.Get("code_challenge_method") != "S256", len(q.Get("code_challenge")) != 43:
		answer.Set("error", "invalid_request")
		answer.Set("error_description", "a code_challenge by S256 is needed")
	default:
		g := grant{
			client: q.Get("client_id"), redirect: back, challenge: q.Get("code_challenge"),
			subject: FirstUser, resource: q.Get("resource"), scope: q.Get("scope"), until: time.Now().Add(codeLife), family: &family{},
		}
		if g.scope == "" {
			g.scope = s.scopes.Usual
		}
		answer.Set("code", s.keep(s.codes, g))
	}
	to, err := url.Parse(back)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", "the redirect_uri cannot be read")
		return
	}
	query := to.Query()
	for key := range answer {
		query.Set(key, answer.Get(key))
	}
	to.RawQuery = query.Encode()
	w.Header().Set("Location", to.String())
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusFound)
}

// keep keeps what a new secret stands for, and forgets what has lapsed.
func (s *Server) keep(among map[string]grant, g grant) (secret string) {
	secret = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, old := range among {
		if len(among) >= maxGrants || time.Now().After(old.until) {
			delete(among, key)
		}
	}
	among[secret] = g
	return secret
}

// redeem takes what a secret stands for; it does so once. One that comes again
// was stolen, be it by who comes first or last: all that came of its authorization
// is revoked (OAuth 2.1 sections 4.1.3 and 4.3.1).
func (s *Server) redeem(among map[string]grant, secret string) (g grant, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok = among[secret]
	if !ok {
		return g, false
	}
	if g.used {
		g.family.revoked = true
	}
	ok = !g.used && !g.family.revoked && time.Now().Before(g.until)
	g.used = true
	among[secret] = g
	return g, ok
}

// token exchanges a code, whose client proves to be who asked for it (RFC 7636
// section 4.6), or a refresh token, which is good once (OAuth 2.1 section 4.3.1).
// The redirect URI counts where it is given, as by clients of OAuth 2.0.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", "the body is no form")
		return
	}
	form := r.PostForm
	var g grant
	ok := false
	switch form.Get("grant_type") {
	case "authorization_code":
		g, ok = s.redeem(s.codes, form.Get("code"))
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		proof := base64.RawURLEncoding.EncodeToString(sum[:])
		ok = ok && (!form.Has("redirect_uri") || form.Get("redirect_uri") == g.redirect) && subtle.ConstantTimeCompare([]byte(proof), []byte(g.challenge)) == 1
	case "refresh_token":
		g, ok = s.redeem(s.refresh, form.Get("refresh_token"))
	default:
		refuse(w, http.StatusBadRequest, "unsupported_grant_type", "there are authorization_code and refresh_token")
		return
	}
	if resource := form.Get("resource"); !ok || form.Get("client_id") != g.client || resource != "" && g.resource != "" && resource != g.resource {
		refuse(w, http.StatusBadRequest, "invalid_grant", "it was not given to this client so, or has lapsed")
		return
	}
	if g.resource == "" {
		g.resource = cmp.Or(form.Get("resource"), s.resource)
	}
	g.used, g.until = false, time.Now().Add(refreshLife)
	write(w, http.StatusOK, map[string]any{
		"access_token": sign(s.key, s.claims(g.subject, g.resource, g.scope, g.client, Life)), "token_type": "Bearer",
		"expires_in": int(Life.Seconds()), "scope": g.scope, "refresh_token": s.keep(s.refresh, g),
	})
}

// claims are those of a token that begins now.
func (s *Server) claims(subject, resource, scope, client string, life time.Duration) Claims {
	now := time.Now()
	return Claims{
		Issuer: s.issuer, Subject: subject, Audience: resource, Client: client, Scope: scope,
		ID: rand.Text(), Issued: now.Unix(), Expires: now.Add(life).Unix(),
	}
}
