package authserver

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// A client is a registered public client.
type client struct {
	redirectURIs []string
}

// The users.
const (
	FirstUser  = "ada"
	secondUser = "ines"
)

// register registers a client (RFC 7591 section 3). Its redirect URIs are of the
// loopback interface or of https (basic/authorization#security-considerations, of
// 2025-03-26).
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var request struct {
		RedirectURIs []string `json:"redirect_uris"`
		Name         string   `json:"client_name"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_client_metadata", "the body is no JSON object of client metadata")
		return
	}
	for _, raw := range request.RedirectURIs {
		if !isRedirectURI(raw) {
			const description = "a redirect URI is of https or of the loopback interface"
			writeError(w, http.StatusBadRequest, "invalid_redirect_uri", description)
			return
		}
	}
	if len(request.RedirectURIs) == 0 {
		writeError(w, http.StatusBadRequest, "invalid_redirect_uri", "redirect_uris is missing")
		return
	}
	id := s.addClient(client{request.RedirectURIs})
	writeJSON(w, http.StatusCreated, map[string]any{
		"client_id": id, "client_id_issued_at": time.Now().Unix(),
		"client_name": request.Name, "redirect_uris": request.RedirectURIs,
		"grant_types":    []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "token_endpoint_auth_method": "none",
	})
}

func isRedirectURI(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

// addClient stores a client under a new id. It drops the oldest one if there are too
// many.
func (s *Server) addClient(c client) (id string) {
	id = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clientIDs) == maxClients {
		delete(s.clients, s.clientIDs[0])
		s.clientIDs = s.clientIDs[1:]
	}
	s.clients[id] = c
	s.clientIDs = append(s.clientIDs, id)
	return id
}

// authorize issues a code at once, since the user always agrees. A request whose
// redirect URI is not exactly a registered one is not redirected to it; a client
// that registered one need not name it (OAuth 2.1 section 4.1.1).
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	c, known := s.clients[q.Get("client_id")]
	s.mu.Unlock()
	redirectURI := q.Get("redirect_uri")
	if !q.Has("redirect_uri") && len(c.redirectURIs) == 1 {
		redirectURI = c.redirectURIs[0]
	}
	if !known || !slices.Contains(c.redirectURIs, redirectURI) {
		const description = "the client or its redirect_uri is not registered"
		writeError(w, http.StatusBadRequest, "invalid_request", description)
		return
	}
	to, err := url.Parse(redirectURI)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", "the redirect_uri cannot be read")
		return
	}
	query := to.Query()
	for key, value := range s.authorizationResponse(q, redirectURI) {
		query.Set(key, value)
	}
	to.RawQuery = query.Encode()
	w.Header().Set("Location", to.String())
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusFound)
}

// authorizationResponse returns the parameters of the redirect: a code, or an error.
func (s *Server) authorizationResponse(q url.Values, redirectURI string) map[string]string {
	response := map[string]string{"iss": s.issuer}
	if q.Has("state") {
		response["state"] = q.Get("state")
	}
	switch {
	case q.Get("response_type") != "code":
		response["error"] = "unsupported_response_type"
	case q.Get("code_challenge_method") != "S256", len(q.Get("code_challenge")) != 43:
		response["error"] = "invalid_request"
		response["error_description"] = "a code_challenge by S256 is needed"
	default:
		g := grant{
			client: q.Get("client_id"), redirectURI: redirectURI, challenge: q.Get("code_challenge"),
			subject: FirstUser, resource: q.Get("resource"), scope: q.Get("scope"),
			expires: time.Now().Add(codeLifetime), authorization: &authorization{},
		}
		if g.scope == "" {
			g.scope = s.scopes.Usual
		}
		response["code"] = s.issue(s.codes, g)
	}
	return response
}
