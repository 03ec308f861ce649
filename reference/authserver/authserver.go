// Package authserver is a small honest OAuth 2.1 authorization server for tests:
// it gives tokens to whoever asks, on the loopback interface alone. The
// reference server trusts it, and so may any server under test. It publishes its
// metadata (RFC 8414), registers clients (RFC 7591), has the authorization code
// flow with PKCE (RFC 7636) in which the user always agrees, and rotates refresh
// tokens. What no real one has is an endpoint that mints the tokens that tests
// need: of a second user, expired, for another server, with less scope or more.
package authserver

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A Server is an authorization server. It serves at the root of its issuer.
type Server struct {
	issuer  string
	key     ed25519.PrivateKey
	public  ed25519.PublicKey
	foreign ed25519.PrivateKey // of nobody that anybody trusts
	scopes  Scopes
	// resource is the server that tokens are for where clients name none, as those
	// of 2025-03-26 do; "" where that is not known.
	resource string
	mux      *http.ServeMux

	mu         sync.Mutex
	clients    map[string]client
	registered []string // their ids, oldest first
	codes      map[string]grant
	refresh    map[string]grant
}

// Scopes are what minted tokens may hold by default, each separated by spaces:
// usually, too little, and more than is needed in a broader scope. "" where that
// is not known.
type Scopes struct {
	Usual, Narrow, Broad string
}

// The paths of the endpoints, which are those that servers without metadata have
// (basic/authorization#fallbacks-for-servers-without-metadata-discovery, of
// 2025-03-26).
const (
	pathMetadata  = "/.well-known/oauth-authorization-server"
	pathKeys      = "/jwks"
	pathAuthorize = "/authorize"
	pathToken     = "/token"
	pathRegister  = "/register"
	pathMint      = "/mint"
)

// How long access tokens are good: those of the flow, and those that are minted,
// which outlast any run of checks.
const (
	Life       = 10 * time.Minute
	mintedLife = time.Hour
)

// Bounds of what is kept.
const (
	maxClients = 1000
	maxGrants  = 1000
	maxBody    = 64 << 10
)

// New returns an authorization server with a key of its own.
func New(issuer string, scopes Scopes) *Server {
	key := newKey()
	s := &Server{
		issuer: issuer, key: key, public: key.Public().(ed25519.PublicKey), foreign: newKey(), scopes: scopes, mux: http.NewServeMux(),
		clients: map[string]client{}, codes: map[string]grant{}, refresh: map[string]grant{},
	}
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET " + pathMetadata:  s.metadata,
		"GET " + pathKeys:      s.keys,
		"GET " + pathAuthorize: s.authorize,
		"POST " + pathToken:    s.token,
		"POST " + pathRegister: s.register,
		"POST " + pathMint:     s.mint,
	} {
		s.mux.HandleFunc(pattern, serve)
	}
	return s
}

// Issuer identifies the server.
func (s *Server) Issuer() string { return s.issuer }

// ServeHTTP answers one request of somebody who called us by a name of the
// loopback interface, and is no page of somebody else: whoever reaches us gets
// tokens.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if host := hostOf(r.Host); !loopback(host) || r.Header.Get("Origin") != "" {
		refuse(w, http.StatusForbidden, "access_denied", "tokens for tests are given on the loopback interface alone")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// metadata answers with the metadata of the server (RFC 8414 section 3).
func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	o := map[string]any{
		"issuer":                                         s.issuer,
		"authorization_endpoint":                         s.issuer + pathAuthorize,
		"token_endpoint":                                 s.issuer + pathToken,
		"registration_endpoint":                          s.issuer + pathRegister,
		"jwks_uri":                                       s.issuer + pathKeys,
		"response_types_supported":                       []string{"code"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none"},
		"authorization_response_iss_parameter_supported": true,
		MintEndpoint:                                     s.issuer + pathMint,
	}
	if s.scopes.Usual != "" {
		o["scopes_supported"] = strings.Fields(s.scopes.Usual)
	}
	write(w, http.StatusOK, o)
}

// keys answers with the key that tokens are verified by (RFC 7517, RFC 8037).
func (s *Server) keys(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{
		"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": algorithm.Algorithm, "kid": keyID,
		"x": base64.RawURLEncoding.EncodeToString(s.public),
	}}})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // who cannot be written to has left
}

// refuse answers with an error of OAuth (RFC 6749 section 5.2).
func refuse(w http.ResponseWriter, status int, code, why string) {
	write(w, status, map[string]any{"error": code, "error_description": why})
}
