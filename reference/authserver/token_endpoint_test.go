package authserver

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"
)

const redirectURI = "http://127.0.0.1:9/callback"

// requestCode requests a code, with further parameters; one of "" is not sent.
func requestCode(t *testing.T, s *Server, id string, further ...string) (code string, status int) {
	t.Helper()
	q := url.Values{
		"response_type": {"code"}, "client_id": {id}, "redirect_uri": {redirectURI},
		"code_challenge": {codeChallenge()}, "code_challenge_method": {"S256"},
	}
	for i := 0; i < len(further); i += 2 {
		q.Set(further[i], further[i+1])
		if further[i+1] == "" {
			q.Del(further[i])
		}
	}
	answer, _ := send(t, "GET", s.Issuer()+"/authorize?"+q.Encode(), formType, "")
	to, err := url.Parse(answer.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	return to.Query().Get("code"), answer.StatusCode
}

// requestToken sends a request to the token endpoint.
func requestToken(t *testing.T, s *Server, id string, values ...string) (access, refresh string, status int) {
	t.Helper()
	form := url.Values{"client_id": {id}}
	for i := 0; i < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	answer, o := send(t, "POST", s.Issuer()+"/token", formType, form.Encode())
	access, _ = o["access_token"].(string)
	refresh, _ = o["refresh_token"].(string)
	return access, refresh, answer.StatusCode
}

// codeForm returns the parameters that exchange a code.
func codeForm(code string, further ...string) []string {
	form := []string{"grant_type", "authorization_code", "code", code, "code_verifier", codeVerifier}
	return append(form, further...)
}

// refreshForm returns the parameters that exchange a refresh token.
func refreshForm(token string) []string {
	return []string{"grant_type", "refresh_token", "refresh_token", token}
}

// A client that names no resource gets a token for the server at the origin of the
// authorization server (basic/authorization of 2025-03-26).
func TestCodeFlowWithoutResource(t *testing.T) {
	l := startProtected(t)
	id := registerClient(t, l.Server, redirectURI)
	c, _ := requestCode(t, l.Server, id)
	access, refresh, _ := requestToken(t, l.Server, id, codeForm(c, "redirect_uri", redirectURI)...)
	if answer, _ := l.post("Bearer "+access, initializeLine); answer.StatusCode != http.StatusOK {
		t.Errorf("the answer to its token is %s", answer.Status)
	}
	access, _, _ = requestToken(t, l.Server, id, refreshForm(refresh)...)
	if answer, _ := l.post("Bearer "+access, initializeLine); answer.StatusCode != http.StatusOK {
		t.Errorf("the answer to its refreshed token is %s", answer.Status)
	}
}

// OAuth 2.1 has no redirect_uri in the token request, and requires none in the
// authorization request of a client that registered one.
func TestRedirectURIIsOptional(t *testing.T) {
	s := startServer(t)
	id := registerClient(t, s, redirectURI)
	for _, c := range []struct {
		authorized, exchanged string
		status                int
	}{
		{redirectURI, redirectURI, 200}, {redirectURI, "", 200}, {"", redirectURI, 200}, {"", "", 200},
		{redirectURI, redirectURI + "/x", 400}, {"", redirectURI + "/x", 400},
	} {
		secret, status := requestCode(t, s, id, "redirect_uri", c.authorized)
		if status != http.StatusFound {
			t.Errorf("the answer to redirect_uri %q is %d", c.authorized, status)
			continue
		}
		form := codeForm(secret)
		if c.exchanged != "" {
			form = append(form, "redirect_uri", c.exchanged)
		}
		if _, _, status := requestToken(t, s, id, form...); status != c.status {
			t.Errorf("redirect_uri %q, then %q: status %d, want %d", c.authorized, c.exchanged, status, c.status)
		}
	}
	_, o := send(
		t, "POST", s.Issuer()+"/register", "application/json",
		`{"redirect_uris":["`+redirectURI+`","`+redirectURI+`/2"]}`,
	)
	if _, status := requestCode(t, s, o["client_id"].(string), "redirect_uri", ""); status != http.StatusBadRequest {
		t.Errorf("the answer without redirect_uri to a client with two is %d", status)
	}
}

// After a second use of a code or a refresh token, nothing of its authorization can be
// refreshed (OAuth 2.1 sections 4.1.3 and 4.3.1).
func TestReplayRevokesAuthorization(t *testing.T) {
	s := startServer(t)
	id := registerClient(t, s, redirectURI)
	for _, replayed := range []string{"nothing", "code", "refresh token", "old refresh token"} {
		secret, _ := requestCode(t, s, id)
		_, first, _ := requestToken(t, s, id, codeForm(secret)...)
		_, second, _ := requestToken(t, s, id, refreshForm(first)...)
		_, third, status := requestToken(t, s, id, refreshForm(second)...)
		if status != http.StatusOK {
			t.Fatalf("the answer to a refresh token is %d", status)
		}
		other, _ := requestCode(t, s, id)
		_, unrelated, _ := requestToken(t, s, id, codeForm(other)...)
		form := map[string][]string{
			"code": codeForm(secret), "refresh token": refreshForm(second), "old refresh token": refreshForm(first),
		}[replayed]
		if form != nil {
			if _, _, status := requestToken(t, s, id, form...); status != http.StatusBadRequest {
				t.Errorf("the answer to a used %s is %d", replayed, status)
			}
		}
		_, _, status = requestToken(t, s, id, refreshForm(third)...)
		if (status == http.StatusOK) != (replayed == "nothing") {
			t.Errorf("after the replay of %s the answer to the newest refresh token is %d", replayed, status)
		}
		if _, _, status := requestToken(t, s, id, refreshForm(unrelated)...); status != http.StatusOK {
			t.Errorf("after the replay of %s the answer to an unrelated refresh token is %d", replayed, status)
		}
	}
}

func TestDropsOldestClient(t *testing.T) {
	s := startServer(t)
	first := registerClient(t, s, redirectURI)
	second := registerClient(t, s, redirectURI)
	for range maxClients - 1 {
		registerClient(t, s, redirectURI)
	}
	if _, status := requestCode(t, s, first); status != http.StatusBadRequest {
		t.Errorf("the answer to the oldest client is %d", status)
	}
	if _, status := requestCode(t, s, second); status != http.StatusFound {
		t.Errorf("the answer to a newer client is %d", status)
	}
}

func TestMissingBodyTimesOut(t *testing.T) {
	t.Parallel()
	s := New("http://127.0.0.1:1", Scopes{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := s.httpServer(time.Second)      // a slow machine answers late, but within a second more
	go func() { _ = web.Serve(l) }()      // until it is closed
	t.Cleanup(func() { _ = web.Close() }) // after the parallel subtests
	for _, path := range []string{"/token", "/register", "/mint", "/jwks"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(
				c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 100\r\n\r\n", path,
				formType,
			)
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode < 400 {
				t.Error(answer.Status)
			}
		})
	}
}
