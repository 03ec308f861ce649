package authserver

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A token is valid for the server that it was issued for. What a request names in Host
// does not change that: a token for another server at another port would be sent with
// the name of that server. The metadata names a resource that tokens are valid for.
func TestAcceptsTokensForThisServerOnly(t *testing.T) {
	l := startProtected(t, "library.example")
	u, err := url.Parse(l.url)
	if err != nil {
		t.Fatal(err)
	}
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	for _, c := range []struct{ host, audience, resource string }{
		{u.Host, l.url, l.url},
		{"localhost:" + u.Port(), "http://localhost:" + u.Port() + "/mcp", "http://localhost:" + u.Port() + "/mcp"},
		{"localhost", "http://localhost:" + u.Port() + "/mcp", "http://localhost:" + u.Port() + "/mcp"},
		{"localhost:" + u.Port(), l.url, "http://localhost:" + u.Port() + "/mcp"},
		{"library.example", "http://library.example/mcp", "http://library.example/mcp"},
		{"library.example", "http://library.example:80/mcp", "http://library.example/mcp"},
		{
			"library.example:" + u.Port(), "http://library.example:" + u.Port() + "/mcp",
			"http://library.example:" + u.Port() + "/mcp",
		},
		{"127.0.0.1:1", "http://127.0.0.1:1/mcp", ""},
		{"localhost", "http://localhost/mcp", ""},
		{"library.example:9", "http://library.example:9/mcp", ""},
	} {
		token, err := l.Mint(FirstUserToken, c.audience, "")
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := l.post("Bearer "+token, initializeLine, "Host", c.host)
		if served := answer.StatusCode == http.StatusOK; served != (c.resource != "") {
			t.Errorf("the answer to a token for %s with Host %s is %s", c.audience, c.host, answer.Status)
		}
		_, o := send(t, "GET", "http://"+u.Host+metadata, "", "", "Host", c.host)
		named, _ := o["resource"].(string)
		if c.resource != "" && named != c.resource || !strings.HasSuffix(named, "/mcp") {
			t.Errorf("the metadata with Host %s names the resource %s", c.host, named)
		}
		if token, err = l.Mint(FirstUserToken, named, ""); err != nil {
			t.Fatal(err)
		}
		if answer, _ := l.post("Bearer "+token, initializeLine, "Host", c.host); answer.StatusCode != http.StatusOK {
			t.Errorf("the metadata with Host %s names %s; the answer to a token for it is %s", c.host, named,
				answer.Status)
		}
	}
}

// The endpoint of HTTP+SSE is a resource of its own (RFC 9728 section 3.3).
func TestResourceIsCalledEndpoint(t *testing.T) {
	l := startProtected(t)
	at := strings.TrimSuffix(l.url, "/mcp")
	for path, resource := range map[string]string{"/mcp": "/mcp", "/sse": "/sse", "/messages": "/sse"} {
		answer, _ := send(t, "GET", at+path, "", "", "Accept", "text/event-stream")
		_, rest, _ := strings.Cut(answer.Header.Get("WWW-Authenticate"), `resource_metadata="`)
		metadata, _, _ := strings.Cut(rest, `"`)
		if answer.StatusCode != http.StatusUnauthorized ||
			metadata != at+"/.well-known/oauth-protected-resource"+resource {
			t.Errorf("%s: status %s, metadata at %q", path, answer.Status, metadata)
			continue
		}
		if answer, o := send(t, "GET", metadata, "", ""); answer.StatusCode != http.StatusOK ||
			o["resource"] != at+resource {
			t.Errorf("the metadata of %s is %s %v", path, answer.Status, o)
		}
	}
	for _, resource := range []string{"/sse", "/mcp"} { // both are this server
		token, err := l.Mint(FirstUserToken, at+resource, "")
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), "GET", at+"/sse", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("the answer to a token for %s is %s", resource, answer.Status)
		}
	}
}

func TestBodylessRequestsNeedScope(t *testing.T) {
	l := startProtected(t)
	at := strings.TrimSuffix(l.url, "/mcp")
	opened, _ := l.post("Bearer "+l.token(FirstUserToken), initializeLine)
	session := opened.Header.Get("Mcp-Session-Id")
	token, err := l.Mint(FirstUserToken, l.url, "another:scope")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, path string }{{"GET", "/mcp"}, {"DELETE", "/mcp"}, {"GET", "/sse"}} {
		answer, _ := send(
			t, c.method, at+c.path, "", "", "Accept", "text/event-stream", "Mcp-Session-Id", session,
			"Authorization", "Bearer "+token,
		)
		if got := answer.Header.Get("WWW-Authenticate"); answer.StatusCode != http.StatusForbidden ||
			!strings.Contains(got, `error="insufficient_scope"`) || !strings.Contains(got, `scope="library:enter"`) {
			t.Errorf("%s %s: status %s, challenge %q", c.method, c.path, answer.Status, got)
		}
	}
	answer, _ := send(
		t, "DELETE", l.url, "", "", "Mcp-Session-Id", session, "Authorization", "Bearer "+l.token(NarrowScopeToken),
	)
	if answer.StatusCode != http.StatusNoContent {
		t.Errorf("the answer to a token with the scope is %s", answer.Status)
	}
}
