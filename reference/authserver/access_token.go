package authserver

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// claims are those of an access token (RFC 9068 section 2.2).
type claims struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	Client   string `json:"client_id"`
	Scope    string `json:"scope"`
	ID       string `json:"jti"`
	Issued   int64  `json:"iat"` // seconds since 1970
	Expires  int64  `json:"exp"` // likewise
}

// A header is that of a signed token (RFC 7515 section 4).
type header struct {
	Algorithm string `json:"alg"`
	Type      string `json:"typ"`
	Key       string `json:"kid"`
}

// keyID names the one key of an authorization server.
const keyID = "mcpcheck-1"

// tokenHeader is the header of every access token.
var tokenHeader = header{"EdDSA", "at+jwt", keyID}

// newClaims returns the claims of a token that is issued now.
func (s *Server) newClaims(subject, resource, scope, client string, lifetime time.Duration) claims {
	now := time.Now()
	return claims{
		Issuer: s.issuer, Subject: subject, Audience: resource, Client: client, Scope: scope,
		ID: rand.Text(), Issued: now.Unix(), Expires: now.Add(lifetime).Unix(),
	}
}

// sign makes a token of claims (RFC 7519, RFC 8037).
func sign(key ed25519.PrivateKey, c claims) string {
	body := encodePart(tokenHeader) + "." + encodePart(c)
	return body + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(body)))
}

func encodePart(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("authserver: encode a token: %v", err)) // structs of strings and numbers always encode
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Verify returns what a token of this authorization server grants, even if it has
// expired. A token with another signature or issuer is an error.
func (s *Server) Verify(token string) (server.Grant, error) {
	c, err := s.verified.Get(token, func() (claims, error) { return s.verifiedClaims(token) })
	if err != nil {
		return server.Grant{}, fmt.Errorf("verify an access token: %w", err)
	}
	return server.Grant{
		Subject: c.Subject, Audience: []string{c.Audience}, Scopes: strings.Fields(c.Scope),
		Expires: time.Unix(c.Expires, 0),
	}, nil
}

func (s *Server) verifiedClaims(token string) (c claims, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, fmt.Errorf("it has %d parts, not 3", len(parts))
	}
	var h header
	if err := decodePart(parts[0], &h); err != nil {
		return c, fmt.Errorf("its header: %w", err)
	}
	if h != tokenHeader {
		return c, fmt.Errorf("it is signed by %q with the key %q", h.Algorithm, h.Key)
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || !ed25519.Verify(s.publicKey, []byte(parts[0]+"."+parts[1]), signature) {
		return c, errors.New("its signature is not ours")
	}
	if err := decodePart(parts[1], &c); err != nil {
		return c, fmt.Errorf("its claims: %w", err)
	}
	if c.Issuer != s.issuer {
		return c, fmt.Errorf("its issuer is %q", c.Issuer)
	}
	return c, nil
}

func decodePart(part string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

func newKey() ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(fmt.Sprintf("authserver: no randomness for a key: %v", err)) // crypto/rand documents that it never fails
	}
	return key
}
