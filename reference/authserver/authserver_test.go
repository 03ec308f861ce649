package authserver

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// serving returns an authorization server that listens until the test ends.
func startServer(t *testing.T) *Server {
	t.Helper()
	s, stop, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask sends a request without following redirects.
func send(t *testing.T, method, to, kind, body string, headers ...string) (*http.Response, map[string]any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	_ = json.Unmarshal(raw, &o)
	return answer, o
}

const formType = "application/x-www-form-urlencoded"

func registerClient(t *testing.T, s *Server, redirect string) string {
	t.Helper()
	answer, o := send(t, "POST", s.Issuer()+"/register", "application/json", `{"redirect_uris":["`+redirect+`"]}`)
	if answer.StatusCode != http.StatusCreated || o["client_id"] == "" {
		t.Fatalf("a client was registered with %s %v", answer.Status, o)
	}
	return o["client_id"].(string)
}

const codeVerifier = "this-verifier-is-long-enough-for-any-server-to-take"

func codeChallenge() string {
	sum := sha256.Sum256([]byte(codeVerifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func TestCodeFlow(t *testing.T) {
	s := startServer(t)
	const back = "http://127.0.0.1:9/callback"
	id := registerClient(t, s, back)
	code := func(redirect string) (*http.Response, string) {
		q := url.Values{
			"response_type": {"code"}, "client_id": {id}, "redirect_uri": {redirect}, "state": {"x y"},
			"code_challenge": {codeChallenge()}, "code_challenge_method": {"S256"},
			"resource": {"http://127.0.0.1:1/mcp"},
		}
		answer, _ := send(t, "GET", s.Issuer()+"/authorize?"+q.Encode(), formType, "")
		to, err := url.Parse(answer.Header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		if to.Query().Has("code") && (to.Query().Get("iss") != s.Issuer() || to.Query().Get("state") != "x y") {
			t.Errorf("the answer %s lacks iss or state", to)
		}
		return answer, to.Query().Get("code")
	}
	if answer, _ := code(back + "/x"); answer.StatusCode != http.StatusBadRequest ||
		answer.Header.Get("Location") != "" {
		t.Errorf("another redirect URI was answered with %s", answer.Status)
	}
	trade := func(values url.Values) (int, map[string]any) {
		answer, o := send(t, "POST", s.Issuer()+"/token", formType, values.Encode())
		return answer.StatusCode, o
	}
	_, c := code(back)
	by := url.Values{"grant_type": {"authorization_code"}, "code": {c}, "client_id": {id}, "redirect_uri": {back}}
	if status, o := trade(by); status != http.StatusBadRequest || o["error"] != "invalid_grant" {
		t.Errorf("a code without its verifier was answered with %d %v", status, o)
	}
	_, c = code(back)
	by.Set("code", c)
	by.Set("code_verifier", codeVerifier)
	status, o := trade(by)
	if status != http.StatusOK {
		t.Fatalf("a code was answered with %d %v", status, o)
	}
	if g, err := s.Verify(o["access_token"].(string)); err != nil || g.Subject != firstUser ||
		!slices.Equal(g.Audience, []string{"http://127.0.0.1:1/mcp"}) {
		t.Errorf("the token grants %+v: %v", g, err)
	}
	again := url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {o["refresh_token"].(string)}, "client_id": {id},
	}
	if status, _ := trade(again); status != http.StatusOK {
		t.Errorf("a refresh token was answered with %d", status)
	}
	if status, _ := trade(by); status != http.StatusBadRequest {
		t.Errorf("a code was good twice")
	}
	if status, _ := trade(again); status != http.StatusBadRequest {
		t.Errorf("a refresh token was good twice: %d", status)
	}
}

// The metadata is that of RFC 8414, and its key verifies tokens.
func TestMetadataAndKeys(t *testing.T) {
	s := startServer(t)
	answer, o := send(t, "GET", s.Issuer()+"/.well-known/oauth-authorization-server", formType, "")
	if answer.StatusCode != http.StatusOK || o["issuer"] != s.Issuer() || o["token_endpoint"] == nil ||
		o["authorization_endpoint"] == nil || o["response_types_supported"] == nil {
		t.Fatalf("metadata: %s %v", answer.Status, o)
	}
	_, keys := send(t, "GET", o["jwks_uri"].(string), formType, "")
	x, err := base64.RawURLEncoding.DecodeString(keys["keys"].([]any)[0].(map[string]any)["x"].(string))
	if err != nil {
		t.Fatal(err)
	}
	_, minted := send(t, "POST", o[MintEndpoint].(string), formType, url.Values{
		"kind": {"first"}, "resource": {"http://h/mcp"},
	}.Encode())
	parts := strings.Split(minted["access_token"].(string), ".")
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !ed25519.Verify(x, []byte(parts[0]+"."+parts[1]), signature) {
		t.Errorf("the published key does not verify a token: %v", err)
	}
}

func TestTokenKinds(t *testing.T) {
	const at = "http://localhost:1/mcp"
	s := New("http://127.0.0.1:2", referenceScopes())
	for _, kind := range Kinds() {
		token, err := s.Mint(kind, at, "")
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		g, err := s.Verify(token)
		if (err != nil) != (kind == Foreign) {
			t.Errorf("%s: verified: %v", kind, err)
		}
		if err != nil {
			continue
		}
		got := map[Kind]bool{
			First: g.Subject == firstUser, Second: g.Subject == secondUser, Expired: time.Now().After(g.Expires),
			Audience: g.Audience[0] != at,
			Narrow:   len(g.Scopes) == 1, Broad: g.Scopes[0] == "library",
			Upper: g.Audience[0] == "HTTP://LOCALHOST:1/mcp",
		}
		if !got[kind] {
			t.Errorf("%s: grants %+v", kind, g)
		}
	}
	if _, err := New("http://127.0.0.1:2", Scopes{}).Mint(Broad, at, ""); err == nil {
		t.Error("a broad scope was made up")
	}
}

// What was altered, is of another key or has no signature is not verified.
func TestRefusesForgedTokens(t *testing.T) {
	s := New("http://127.0.0.1:2", referenceScopes())
	token, err := s.Mint(First, "http://h/mcp", "")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt","kid":"mcpcheck-1"}`))
	other, err := New("http://127.0.0.1:2", referenceScopes()).Mint(First, "http://h/mcp", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, forged := range []string{
		"", "x", parts[0] + "." + parts[1], none + "." + parts[1] + ".",
		parts[0] + "." + encodePart(claims{Issuer: s.Issuer()}) + "." + parts[2], other,
	} {
		if g, err := s.Verify(forged); err == nil {
			t.Errorf("%.40q was verified: %+v", forged, g)
		}
	}
}

// Only who calls by a loopback name, and from no page, is given anything.
func TestRefusesForeignHostAndOrigin(t *testing.T) {
	s := startServer(t)
	if answer, _ := send(t, "POST", s.Issuer()+"/mint", formType, "kind=first", "Origin", "https://evil.example"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("a page was answered with %s", answer.Status)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.Issuer()+"/jwks", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "rebound.example"
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("another host was answered with %s", answer.Status)
	}
	if _, _, err := Listen("0.0.0.0:0"); err == nil {
		t.Error("it listens on every interface")
	}
}
