package authserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// A protectedServer is a protected reference server that listens.
type protectedServer struct {
	*Server
	t   *testing.T
	url string
}

func startProtected(t *testing.T, names ...string) *protectedServer {
	t.Helper()
	l := &protectedServer{t: t}
	listener, err := server.Listen("127.0.0.1:0", Protect(server.Options{
		HTTP: server.HTTP{AllowedHosts: names},
	}, func(s *Server) { l.Server = s }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	l.url = listener.URL()
	return l
}

func (l *protectedServer) token(kind TokenKind) string {
	l.t.Helper()
	token, err := l.Mint(kind, l.url, "")
	if err != nil {
		l.t.Fatal(err)
	}
	return token
}

// post posts a message with the header Authorization, "" for none.
func (l *protectedServer) post(authorization, body string, headers ...string) (*http.Response, map[string]any) {
	l.t.Helper()
	headers = append(headers, "Accept", "application/json, text/event-stream")
	if authorization != "" {
		headers = append(headers, "Authorization", authorization)
	}
	return send(l.t, "POST", l.url, "application/json", body, headers...)
}

const (
	initializeLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	listLine = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	callLine = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search_catalogue",` +
		`"arguments":{"query":"fog"}}}`
)

func TestTokenStatuses(t *testing.T) {
	l := startProtected(t)
	for name, c := range map[string]struct {
		authorization string
		status        int
		challenge     string // a part of it
	}{
		"none":      {"", 401, "Bearer resource_metadata="},
		"basic":     {"Basic YTpi", 401, "Bearer resource_metadata="},
		"empty":     {"Bearer ", 400, `error="invalid_request"`},
		"two words": {"Bearer a b", 400, `error="invalid_request"`},
		"random":    {"Bearer mcpcheck", 401, `error="invalid_token"`},
		"expired":   {"Bearer " + l.token(ExpiredToken), 401, `error="invalid_token"`},
		"audience":  {"Bearer " + l.token(OtherAudienceToken), 401, `error="invalid_token"`},
		"foreign":   {"Bearer " + l.token(UntrustedKeyToken), 401, `error="invalid_token"`},
		"first":     {"Bearer " + l.token(FirstUserToken), 200, ""},
		"scheme":    {"bearer " + l.token(FirstUserToken), 200, ""},
		"second":    {"Bearer " + l.token(SecondUserToken), 200, ""},
		"broad":     {"Bearer " + l.token(BroadScopeToken), 200, ""},
		"upper":     {"Bearer " + l.token(UpperCaseAudienceToken), 200, ""},
		"narrow":    {"Bearer " + l.token(NarrowScopeToken), 200, ""},
	} {
		answer, _ := l.post(c.authorization, initializeLine)
		if got := answer.Header.Get("WWW-Authenticate"); answer.StatusCode != c.status ||
			!strings.Contains(got, c.challenge) || c.challenge == "" && got != "" {
			t.Errorf("%s: status %s, challenge %q, want %d, %q", name, answer.Status, got, c.status, c.challenge)
		}
	}
	r, _ := send(
		t, "POST", l.url+"?access_token="+l.token(FirstUserToken), "application/json", initializeLine, "Accept",
		"application/json, text/event-stream",
	)
	if r.StatusCode != 401 {
		t.Errorf("the answer to a token in the query is %s", r.Status)
	}
}

// A session belongs to its user, and each of its requests requires its own scopes.
func TestSessionsBelongToUsers(t *testing.T) {
	l := startProtected(t)
	opened, _ := l.post("Bearer "+l.token(FirstUserToken), initializeLine)
	session := opened.Header.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatal("the server assigned no session id")
	}
	for name, c := range map[string]struct {
		authorization, body string
		status              int
		scope               string
	}{
		"its user": {"Bearer " + l.token(FirstUserToken), listLine, 200, ""},
		"nobody":   {"", listLine, 401, ""},
		"another":  {"Bearer " + l.token(SecondUserToken), listLine, 404, ""},
		"narrow":   {"Bearer " + l.token(NarrowScopeToken), listLine, 403, `scope="library:enter library:read"`},
		"narrow call": {
			"Bearer " + l.token(NarrowScopeToken), callLine, 403, `scope="library:enter library:read library:desk"`,
		},
		"broad call": {"Bearer " + l.token(BroadScopeToken), callLine, 200, ""},
	} {
		answer, _ := l.post(c.authorization, c.body, "Mcp-Session-Id", session)
		if answer.StatusCode != c.status || !strings.Contains(answer.Header.Get("WWW-Authenticate"), c.scope) {
			t.Errorf("%s: status %s, challenge %q", name, answer.Status, answer.Header.Get("WWW-Authenticate"))
		}
	}
}

// The metadata names the server by the name that the request names, and the
// authorization server, which answers.
func TestProtectedResourceMetadata(t *testing.T) {
	l := startProtected(t)
	at := strings.TrimSuffix(l.url, "/mcp")
	answer, o := send(t, "GET", at+"/.well-known/oauth-protected-resource/mcp", "", "")
	if answer.StatusCode != 200 || o["resource"] != l.url || o["authorization_servers"].([]any)[0] != l.Issuer() {
		t.Errorf("the metadata of the resource is %s %v", answer.Status, o)
	}
	if answer, o = send(t, "GET", l.Issuer()+pathMetadata, "", ""); answer.StatusCode != 200 ||
		o["issuer"] != l.Issuer() {
		t.Errorf("the metadata of the authorization server is %s %v", answer.Status, o)
	}
}

// The library card of a user is listed for and read by that user only, and the list is
// private.
func TestPrivateResources(t *testing.T) {
	l := startProtected(t)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}`
	request := func(kind TokenKind, method, name, params string) map[string]any {
		headers := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
		if name != "" {
			headers = append(headers, "Mcp-Name", name)
		}
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, meta)
		_, o := l.post("Bearer "+l.token(kind), line, headers...)
		return o
	}
	listed := func(kind TokenKind) (pages string) {
		for cursor := ""; ; {
			result, ok := request(kind, "resources/list", "", cursor)["result"].(map[string]any)
			if !ok || result["cacheScope"] != "private" {
				t.Fatalf("resources/list of the token %s is %v", kind, result)
			}
			raw, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			pages += string(raw)
			next, more := result["nextCursor"].(string)
			if !more {
				return pages
			}
			cursor = `"cursor":"` + next + `",`
		}
	}
	const card = "library://readers/ada/card"
	for kind, owns := range map[TokenKind]bool{FirstUserToken: true, SecondUserToken: false} {
		if pages := listed(kind); strings.Contains(pages, card) != owns {
			t.Errorf("resources/list of the token %s is %s", kind, pages)
		}
		got := request(kind, "resources/read", card, `"uri":"`+card+`",`)
		if _, ok := got["result"]; ok != owns {
			t.Errorf("the answer to resources/read with the token %s is %v", kind, got)
		}
	}
}
