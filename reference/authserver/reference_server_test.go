package authserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// A library is a protected reference server that listens, and its tokens.
type protectedServer struct {
	*Server
	t   *testing.T
	url string
}

func startProtected(t *testing.T, names ...string) *protectedServer {
	t.Helper()
	l := &protectedServer{t: t}
	listener, err := server.Listen("127.0.0.1:0", Protect(server.Options{
		HTTP: server.HTTP{Hosts: names},
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

func (l *protectedServer) token(kind Kind) string {
	l.t.Helper()
	token, err := l.Mint(kind, l.url, "")
	if err != nil {
		l.t.Fatal(err)
	}
	return token
}

// post posts a message with a header Authorization, "" for none.
func (l *protectedServer) post(authorization, body string, headers ...string) (*http.Response, map[string]any) {
	l.t.Helper()
	headers = append(headers, "Accept", "application/json, text/event-stream")
	if authorization != "" {
		headers = append(headers, "Authorization", authorization)
	}
	return send(l.t, "POST", l.url, "application/json", body, headers...)
}

const (
	initializeLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	listLine       = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	callLine       = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search_catalogue","arguments":{"query":"fog"}}}`
)

func TestTokenStatuses(t *testing.T) {
	l := startProtected(t)
	for name, c := range map[string]struct {
		authorization string
		status        int
		says          string // in the challenge
	}{
		"none":      {"", 401, "Bearer resource_metadata="},
		"basic":     {"Basic YTpi", 401, "Bearer resource_metadata="},
		"empty":     {"Bearer ", 400, `error="invalid_request"`},
		"two words": {"Bearer a b", 400, `error="invalid_request"`},
		"random":    {"Bearer mcpcheck", 401, `error="invalid_token"`},
		"expired":   {"Bearer " + l.token(Expired), 401, `error="invalid_token"`},
		"audience":  {"Bearer " + l.token(Audience), 401, `error="invalid_token"`},
		"foreign":   {"Bearer " + l.token(Foreign), 401, `error="invalid_token"`},
		"first":     {"Bearer " + l.token(First), 200, ""},
		"scheme":    {"bearer " + l.token(First), 200, ""},
		"second":    {"Bearer " + l.token(Second), 200, ""},
		"broad":     {"Bearer " + l.token(Broad), 200, ""},
		"upper":     {"Bearer " + l.token(Upper), 200, ""},
		"narrow":    {"Bearer " + l.token(Narrow), 200, ""},
	} {
		answer, _ := l.post(c.authorization, initializeLine)
		if got := answer.Header.Get("WWW-Authenticate"); answer.StatusCode != c.status ||
			!strings.Contains(got, c.says) || c.says == "" && got != "" {
			t.Errorf("%s: %s, challenge %q", name, answer.Status, got)
		}
	}
	r, _ := send(
		t, "POST", l.url+"?access_token="+l.token(First), "application/json", initializeLine, "Accept",
		"application/json, text/event-stream",
	)
	if r.StatusCode != 401 {
		t.Errorf("a token in the query was answered with %s", r.Status)
	}
}

// A session is of its user, and each of its requests needs a token that reaches
// as far.
func TestSessionsBelongToUsers(t *testing.T) {
	l := startProtected(t)
	opened, _ := l.post("Bearer "+l.token(First), initializeLine)
	session := opened.Header.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatal("no session was opened")
	}
	for name, c := range map[string]struct {
		authorization, body string
		status              int
		scope               string
	}{
		"its user": {"Bearer " + l.token(First), listLine, 200, ""},
		"nobody":   {"", listLine, 401, ""},
		"another":  {"Bearer " + l.token(Second), listLine, 404, ""},
		"narrow":   {"Bearer " + l.token(Narrow), listLine, 403, `scope="library:enter library:read"`},
		"narrow call": {
			"Bearer " + l.token(Narrow), callLine, 403, `scope="library:enter library:read library:desk"`,
		},
		"broad call": {"Bearer " + l.token(Broad), callLine, 200, ""},
	} {
		answer, _ := l.post(c.authorization, c.body, "Mcp-Session-Id", session)
		if answer.StatusCode != c.status || !strings.Contains(answer.Header.Get("WWW-Authenticate"), c.scope) {
			t.Errorf("%s: %s, challenge %q", name, answer.Status, answer.Header.Get("WWW-Authenticate"))
		}
	}
}

// The metadata names the server under the name that it was called by, and the
// authorization server, which is there.
func TestProtectedResourceMetadata(t *testing.T) {
	l := startProtected(t)
	at := strings.TrimSuffix(l.url, "/mcp")
	answer, o := send(t, "GET", at+"/.well-known/oauth-protected-resource/mcp", "", "")
	if answer.StatusCode != 200 || o["resource"] != l.url || o["authorization_servers"].([]any)[0] != l.Issuer() {
		t.Errorf("%s %v", answer.Status, o)
	}
	if answer, o = send(t, "GET", l.Issuer()+pathMetadata, "", ""); answer.StatusCode != 200 ||
		o["issuer"] != l.Issuer() {
		t.Errorf("%s %v", answer.Status, o)
	}
}

// A reader's card is listed to the reader and read by nobody else, and the list
// is not to be shared.
func TestPrivateResources(t *testing.T) {
	l := startProtected(t)
	ask := func(kind Kind, method, name, params string) map[string]any {
		headers := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
		if name != "" {
			headers = append(headers, "Mcp-Name", name)
		}
		_, o := l.post("Bearer "+l.token(kind), `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, headers...)
		return o
	}
	const card = "library://readers/ada/card"
	pages := ""
	for kind, holds := range map[Kind]bool{First: true, Second: false} {
		cursor := ""
		for pages = ""; ; {
			result, ok := ask(kind, "resources/list", "", cursor)["result"].(map[string]any)
			if !ok || result["cacheScope"] != "private" {
				t.Fatalf("%s: listed %v", kind, result)
			}
			raw, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			pages += string(raw)
			next, more := result["nextCursor"].(string)
			if !more {
				break
			}
			cursor = `"cursor":"` + next + `",`
		}
		if strings.Contains(pages, card) != holds {
			t.Errorf("%s is listed %s", kind, pages)
		}
		got := ask(kind, "resources/read", card, `"uri":"`+card+`",`)
		if _, read := got["result"]; read != holds {
			t.Errorf("%s reads the card: %v", kind, got)
		}
	}
}
