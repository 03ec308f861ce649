// Package authserver is a small conforming OAuth 2.1 authorization server for
// tests: it gives a token to every client that asks, on the loopback interface
// alone. The reference server trusts it, and any server under test may.
//
// A Server is an http.Handler with these endpoints:
//
//   - metadata (RFC 8414) and the key that verifies its tokens (authserver.go)
//   - registration of clients (RFC 7591) and the authorization endpoint of the code
//     flow with PKCE (RFC 7636), where the user always agrees (authorize.go)
//   - the token endpoint, which exchanges codes and rotates refresh tokens
//     (token_endpoint.go)
//   - an endpoint that no real authorization server has: it mints the tokens that
//     tests need, such as expired ones or ones for another server (mint.go)
//
// Listen serves it on its own. Protect and StartProtected run it at the origin of a
// reference server (reference_server.go).
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

	"github.com/mcpcheck/mcpcheck/internal/memo"
)

// A Server is an authorization server. It serves at the root of its issuer.
type Server struct {
	issuer    string
	key       ed25519.PrivateKey
	publicKey ed25519.PublicKey
	otherKey  ed25519.PrivateKey // that no server trusts
	verified  memo.Cache[claims] // of tokens; checking a signature takes longer than a request
	scopes    Scopes
	// resource is the server that tokens are for if clients name none, as those of
	// 2025-03-26 do; "" if it is not known.
	resource string
	mux      *http.ServeMux

	mu            sync.Mutex
	clients       map[string]client
	clientIDs     []string // oldest first
	codes         map[string]grant
	refreshTokens map[string]grant
}

// Scopes are the default scopes of minted tokens, each separated by spaces: those
// usually required, fewer than required, and one that implies more than required.
// "" if they are not known.
type Scopes struct {
	Usual, Narrow, Broad string
}

// The paths of the endpoints, which are those of servers without metadata
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

// The lifetimes of access tokens: of those of the code flow, and of minted ones,
// which outlast any run of checks.
const (
	accessTokenLifetime = 10 * time.Minute
	mintedTokenLifetime = time.Hour
)

// The bounds of what is kept, and of the bodies of requests.
const (
	maxClients = 1000
	maxGrants  = 1000
	maxBody    = 64 << 10
)

// New returns an authorization server with a key of its own.
func New(issuer string, scopes Scopes) *Server {
	key := newKey()
	s := &Server{
		issuer: issuer, key: key, publicKey: key.Public().(ed25519.PublicKey), otherKey: newKey(),
		verified: memo.Cache[claims]{MaxResults: 256},
		scopes:   scopes, mux: http.NewServeMux(),
		clients: map[string]client{}, codes: map[string]grant{}, refreshTokens: map[string]grant{},
	}
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET " + pathMetadata:  s.serveMetadata,
		"GET " + pathKeys:      s.serveKeys,
		"GET " + pathAuthorize: s.authorize,
		"POST " + pathToken:    s.serveToken,
		"POST " + pathRegister: s.register,
		"POST " + pathMint:     s.serveMint,
	} {
		s.mux.HandleFunc(pattern, serve)
	}
	return s
}

// Issuer identifies the server.
func (s *Server) Issuer() string { return s.issuer }

// ServeHTTP answers one request. It refuses a request that names no host of the
// loopback interface or comes from a web page: every client gets tokens here.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if host := hostOf(r.Host); !isLoopback(host) || r.Header.Get("Origin") != "" {
		const description = "tokens for tests are given on the loopback interface alone"
		writeError(w, http.StatusForbidden, "access_denied", description)
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

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// serveMetadata answers with the metadata of the server (RFC 8414 section 3).
func (s *Server) serveMetadata(w http.ResponseWriter, _ *http.Request) {
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
	writeJSON(w, http.StatusOK, o)
}

// serveKeys answers with the key that verifies tokens (RFC 7517, RFC 8037).
func (s *Server) serveKeys(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{
		"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": tokenHeader.Algorithm, "kid": keyID,
		"x": base64.RawURLEncoding.EncodeToString(s.publicKey),
	}}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has left
}

// writeError answers with an OAuth error (RFC 6749 section 5.2).
func writeError(w http.ResponseWriter, status int, code, description string) {
	writeJSON(w, status, map[string]any{"error": code, "error_description": description})
}
