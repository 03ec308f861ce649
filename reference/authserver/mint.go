package authserver

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// MintEndpoint is the member of the metadata that names the endpoint which mints
// tokens for tests; no other authorization server has it.
const MintEndpoint = "mcpcheck_mint_endpoint"

// A Kind is what is particular about a minted token.
type Kind string

// The kinds of tokens. All but that of the second user are issued for the first.
const (
	First    Kind = "first"
	Second   Kind = "second"   // of another user
	Expired  Kind = "expired"  // an hour ago
	Audience Kind = "audience" // issued for another server
	Foreign  Kind = "foreign"  // signed by nobody that is trusted
	Narrow   Kind = "narrow"   // with less scope than most needs
	Broad    Kind = "broad"    // with a broader scope that implies what is needed
	Upper    Kind = "upper"    // whose audience is spelt in upper case
)

// Kinds returns the kinds of tokens.
func Kinds() []Kind {
	return []Kind{First, Second, Expired, Audience, Foreign, Narrow, Broad, Upper}
}

// Mint returns a token for a server. The scope is that of its kind where none is
// given; an error tells that none is known.
func (s *Server) Mint(kind Kind, resource, scope string) (string, error) {
	if scope == "" {
		switch kind {
		case Narrow:
			scope = s.scopes.Narrow
		case Broad:
			scope = s.scopes.Broad
		default:
			scope = s.scopes.Usual
		}
		if scope == "" && (kind == Narrow || kind == Broad) {
			return "", fmt.Errorf("mint a token: no scope is known that is %s", kind)
		}
	}
	c := s.claims(FirstUser, resource, scope, "mcpcheck", mintedLife)
	key := s.key
	switch kind {
	case First, Narrow, Broad:
	case Second:
		c.Subject = SecondUser
	case Expired:
		before := time.Now().Add(-time.Hour)
		c.Issued, c.Expires = before.Add(-mintedLife).Unix(), before.Unix()
	case Audience:
		c.Audience = "https://another.example/mcp"
	case Foreign:
		key = s.foreign
	case Upper:
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

// Tokens returns tokens for a server by their kinds; one whose scope is not known
// is left out.
func (s *Server) Tokens(resource string) map[string]string {
	out := map[string]string{}
	for _, kind := range Kinds() {
		if token, err := s.Mint(kind, resource, ""); err == nil {
			out[string(kind)] = token
		}
	}
	return out
}

// mint answers with a token of the kind that a form asks for.
func (s *Server) mint(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", "the body is no form")
		return
	}
	token, err := s.Mint(Kind(r.PostForm.Get("kind")), r.PostForm.Get("resource"), r.PostForm.Get("scope"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	write(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer"})
}
