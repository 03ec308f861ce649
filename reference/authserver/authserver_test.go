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

// startServer returns an authorization server that listens until the test ends.
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

// send sends a request without following redirects.
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
		t.Fatalf("the answer to a registration is %s %v", answer.Status, o)
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
	id := registerClient(t, s, redirectURI)
	authorize := func(redirect string) (*http.Response, string) {
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
			t.Errorf("the redirect to %s lacks iss or state", to)
		}
		return answer, to.Query().Get("code")
	}
	if answer, _ := authorize(redirectURI + "/x"); answer.StatusCode != http.StatusBadRequest ||
		answer.Header.Get("Location") != "" {
		t.Errorf("the answer to another redirect URI is %s", answer.Status)
	}
	exchange := func(values url.Values) (int, map[string]any) {
		answer, o := send(t, "POST", s.Issuer()+"/token", formType, values.Encode())
		return answer.StatusCode, o
	}
	_, code := authorize(redirectURI)
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "client_id": {id}, "redirect_uri": {redirectURI},
	}
	if status, o := exchange(form); status != http.StatusBadRequest || o["error"] != "invalid_grant" {
		t.Errorf("the answer to a code without its verifier is %d %v", status, o)
	}
	_, code = authorize(redirectURI)
	form.Set("code", code)
	form.Set("code_verifier", codeVerifier)
	status, o := exchange(form)
	if status != http.StatusOK {
		t.Fatalf("the answer to a code is %d %v", status, o)
	}
	if g, err := s.Verify(o["access_token"].(string)); err != nil || g.Subject != FirstUser ||
		!slices.Equal(g.Audience, []string{"http://127.0.0.1:1/mcp"}) {
		t.Errorf("the token grants %+v: %v", g, err)
	}
	refresh := url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {o["refresh_token"].(string)}, "client_id": {id},
	}
	if status, _ := exchange(refresh); status != http.StatusOK {
		t.Errorf("the answer to a refresh token is %d", status)
	}
	if status, _ := exchange(form); status != http.StatusBadRequest {
		t.Errorf("the answer to a used code is %d", status)
	}
	if status, _ := exchange(refresh); status != http.StatusBadRequest {
		t.Errorf("the answer to a used refresh token is %d", status)
	}
}

func TestMetadataAndKeys(t *testing.T) {
	s := startServer(t)
	answer, o := send(t, "GET", s.Issuer()+"/.well-known/oauth-authorization-server", formType, "")
	if answer.StatusCode != http.StatusOK || o["issuer"] != s.Issuer() || o["token_endpoint"] == nil ||
		o["authorization_endpoint"] == nil || o["response_types_supported"] == nil {
		t.Fatalf("the metadata is %s %v", answer.Status, o)
	}
	_, keys := send(t, "GET", o["jwks_uri"].(string), formType, "")
	x, err := base64.RawURLEncoding.DecodeString(keys["keys"].([]any)[0].(map[string]any)["x"].(string))
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"kind": {"first"}, "resource": {"http://h/mcp"}}
	_, minted := send(t, "POST", o[MintEndpoint].(string), formType, form.Encode())
	parts := strings.Split(minted["access_token"].(string), ".")
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !ed25519.Verify(x, []byte(parts[0]+"."+parts[1]), signature) {
		t.Errorf("the published key does not verify a token: %v", err)
	}
}

func TestTokenKinds(t *testing.T) {
	const at = "http://localhost:1/mcp"
	s := New("http://127.0.0.1:2", referenceScopes())
	for _, kind := range TokenKinds() {
		token, err := s.Mint(kind, at, "")
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		g, err := s.Verify(token)
		if (err != nil) != (kind == UntrustedKeyToken) {
			t.Errorf("%s: verified: %v", kind, err)
		}
		if err != nil {
			continue
		}
		got := map[TokenKind]bool{
			FirstUserToken:         g.Subject == FirstUser,
			SecondUserToken:        g.Subject == secondUser,
			ExpiredToken:           time.Now().After(g.Expires),
			OtherAudienceToken:     g.Audience[0] != at,
			NarrowScopeToken:       len(g.Scopes) == 1,
			BroadScopeToken:        g.Scopes[0] == "library",
			UpperCaseAudienceToken: g.Audience[0] == "HTTP://LOCALHOST:1/mcp",
		}
		if !got[kind] {
			t.Errorf("the token %s grants %+v", kind, g)
		}
	}
	if _, err := New("http://127.0.0.1:2", Scopes{}).Mint(BroadScopeToken, at, ""); err == nil {
		t.Error("a broad token was minted without a known scope")
	}
}

func TestRefusesForgedTokens(t *testing.T) {
	s := New("http://127.0.0.1:2", referenceScopes())
	token, err := s.Mint(FirstUserToken, "http://h/mcp", "")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt","kid":"mcpcheck-1"}`))
	other, err := New("http://127.0.0.1:2", referenceScopes()).Mint(FirstUserToken, "http://h/mcp", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, forged := range []string{
		"", "x", parts[0] + "." + parts[1], none + "." + parts[1] + ".",
		parts[0] + "." + encodePart(claims{Issuer: s.Issuer()}) + "." + parts[2], other,
	} {
		if g, err := s.Verify(forged); err == nil {
			t.Errorf("Verify accepts %.40q: %+v", forged, g)
		}
	}
}

func TestRefusesForeignHostAndOrigin(t *testing.T) {
	s := startServer(t)
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Host", "rebound.example"}} {
		answer, _ := send(t, "POST", s.Issuer()+"/mint", formType, "kind=first", header...)
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("the answer to a request with %s is %s", header, answer.Status)
		}
	}
	if _, _, err := Listen("0.0.0.0:0"); err == nil {
		t.Error("listening on all interfaces is no error")
	}
}
