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

// code asks for a code, with further parameters, "" for one to leave out.
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

// trade asks for tokens.
func requestToken(t *testing.T, s *Server, id string, values ...string) (access, refresh string, status int) {
	t.Helper()
	form := url.Values{"client_id": {id}}
	for i := 0; i < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	answer, o := send(t, "POST", s.Issuer()+"/token", "application/x-www-form-urlencoded", form.Encode())
	access, _ = o["access_token"].(string)
	refresh, _ = o["refresh_token"].(string)
	return access, refresh, answer.StatusCode
}

func codeForm(code string, further ...string) []string {
	return append([]string{
		"grant_type", "authorization_code", "code", code, "code_verifier", codeVerifier,
	}, further...)
}

func refreshForm(token string) []string {
	return []string{"grant_type", "refresh_token", "refresh_token", token}
}

// A client that knows nothing of resources gets a token for the server that hosts
// the authorization server (basic/authorization of 2025-03-26).
func TestCodeFlowWithoutResource(t *testing.T) {
	l := startProtected(t)
	id := registerClient(t, l.Server, redirectURI)
	c, _ := requestCode(t, l.Server, id)
	access, refresh, _ := requestToken(t, l.Server, id, codeForm(c, "redirect_uri", redirectURI)...)
	if answer, _ := l.post("Bearer "+access, initializeLine); answer.StatusCode != http.StatusOK {
		t.Errorf("its token is answered with %s", answer.Status)
	}
	access, _, _ = requestToken(t, l.Server, id, refreshForm(refresh)...)
	if answer, _ := l.post("Bearer "+access, initializeLine); answer.StatusCode != http.StatusOK {
		t.Errorf("its refreshed token is answered with %s", answer.Status)
	}
}

// OAuth 2.1 has no redirect_uri in the token request, and needs none to choose
// from a single one.
func TestRedirectURIIsOptional(t *testing.T) {
	s := startServer(t)
	id := registerClient(t, s, redirectURI)
	for _, c := range []struct {
		asked, repeated string
		status          int
	}{
		{redirectURI, redirectURI, 200}, {redirectURI, "", 200}, {"", redirectURI, 200}, {"", "", 200},
		{redirectURI, redirectURI + "/x", 400}, {"", redirectURI + "/x", 400},
	} {
		secret, status := requestCode(t, s, id, "redirect_uri", c.asked)
		if status != http.StatusFound {
			t.Errorf("redirect_uri %q was answered with %d", c.asked, status)
			continue
		}
		by := codeForm(secret)
		if c.repeated != "" {
			by = append(by, "redirect_uri", c.repeated)
		}
		if _, _, status := requestToken(t, s, id, by...); status != c.status {
			t.Errorf("redirect_uri %q, then %q: %d", c.asked, c.repeated, status)
		}
	}
	_, o := send(
		t, "POST", s.Issuer()+"/register", "application/json",
		`{"redirect_uris":["`+redirectURI+`","`+redirectURI+`/2"]}`,
	)
	if _, status := requestCode(t, s, o["client_id"].(string), "redirect_uri", ""); status != http.StatusBadRequest {
		t.Errorf("one of two was chosen: %d", status)
	}
}

// Who uses a code or a refresh token again is, or was, a thief: nothing that came
// of it is refreshed any more (OAuth 2.1 sections 4.1.3 and 4.3.1).
func TestReplayRevokesAuthorization(t *testing.T) {
	s := startServer(t)
	id := registerClient(t, s, redirectURI)
	for _, replayed := range []string{"nothing", "code", "refresh token", "old refresh token"} {
		secret, _ := requestCode(t, s, id)
		_, first, _ := requestToken(t, s, id, codeForm(secret)...)
		_, second, _ := requestToken(t, s, id, refreshForm(first)...)
		_, third, status := requestToken(t, s, id, refreshForm(second)...)
		if status != http.StatusOK {
			t.Fatalf("a refresh token was answered with %d", status)
		}
		other, _ := requestCode(t, s, id)
		_, beside, _ := requestToken(t, s, id, codeForm(other)...)
		if with := map[string][]string{
			"code": codeForm(secret), "refresh token": refreshForm(second), "old refresh token": refreshForm(first),
		}[replayed]; with != nil {
			if _, _, status := requestToken(t, s, id, with...); status != http.StatusBadRequest {
				t.Errorf("a %s was good again", replayed)
			}
		}
		if _, _, status := requestToken(t, s, id, refreshForm(third)...); (status == http.StatusOK) != (replayed == "nothing") {
			t.Errorf("after the replay of %s the newest refresh token is answered with %d", replayed, status)
		}
		if _, _, status := requestToken(t, s, id, refreshForm(beside)...); status != http.StatusOK {
			t.Errorf("after the replay of %s that of another authorization is answered with %d", replayed, status)
		}
	}
}

// There is always room for one more client.
func TestDropsOldestClient(t *testing.T) {
	s := startServer(t)
	first := registerClient(t, s, redirectURI)
	second := registerClient(t, s, redirectURI)
	for range maxClients - 1 {
		registerClient(t, s, redirectURI)
	}
	if _, status := requestCode(t, s, first); status != http.StatusBadRequest {
		t.Errorf("the oldest client is answered with %d", status)
	}
	if _, status := requestCode(t, s, second); status != http.StatusFound {
		t.Errorf("a younger one is answered with %d", status)
	}
}

// Who announces a body and never sends it is not waited for.
func TestMissingBodyTimesOut(t *testing.T) {
	s := New("http://127.0.0.1:1", Scopes{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := s.httpServer(50 * time.Millisecond)
	go func() { _ = web.Serve(l) }() // until it is closed
	defer web.Close()
	for _, path := range []string{"/token", "/register", "/mint", "/jwks"} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(
			c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 100\r\n\r\n", path,
			formType,
		)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		answer.Body.Close()
		if answer.StatusCode < 400 {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}
