package server

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// sessionRevisions are the revisions that have sessions over streamable HTTP.
var sessionRevisions = streamableRevisions & spec.Handshake

func TestSessionLifecycle(t *testing.T) {
	eachRevision(t, sessionRevisions, func(t *testing.T, rev spec.Revision) {
		b := startHTTP(t, Options{})
		ids := map[string]bool{}
		for range 5 {
			s := b.openSession(rev, "{}")
			isInvisible := func(c rune) bool { return c < 0x21 || c > 0x7e }
			if len(s.id) < 22 || ids[s.id] || strings.ContainsFunc(s.id, isInvisible) {
				t.Errorf("the session id is %q", s.id)
			}
			ids[s.id] = true
			b.wantStatus(s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), 200)
			b.wantStatus(s.send("DELETE", pathMCP, "", s.headers...), 204)
			b.wantStatus(s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), 404)
			b.wantStatus(s.send("GET", pathMCP, "", s.headers...), 404)
			b.wantStatus(s.send("DELETE", pathMCP, "", s.headers...), 404)
		}
	})
}

func TestRefusedInitializeOpensNoSession(t *testing.T) {
	b := startHTTP(t, Options{})
	r := b.wantStatus(b.send("POST", pathMCP, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`), 200)
	if r.header.Get("Mcp-Session-Id") != "" || r.lastMessage().Get("error.code").Int() != spec.InvalidParams {
		t.Errorf("the answer is %v %s", r.header, r.body)
	}
	waitUntil(t, "the session is removed", func() bool {
		b.server.handler.mu.Lock()
		defer b.server.handler.mu.Unlock()
		return len(b.server.handler.sessions) == 0
	})
}

// Without sessions each POST names its version, except initialize.
func TestInitializeNeedsNoVersionHeader(t *testing.T) {
	b := startHTTP(t, Options{Revisions: spec.Since(spec.V2025_06_18), HTTP: HTTP{Sessionless: true}})
	r := b.wantStatus(b.send("POST", pathMCP, fmt.Sprintf(initializeFormat, "2025-11-25", "{}")), 200)
	if got := r.lastMessage().Get("result.protocolVersion").String(); got != "2025-11-25" {
		t.Errorf("the server offers %q", got)
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	b.wantStatus(b.send("POST", pathMCP, ping), 400)
	b.wantStatus(b.send("POST", pathMCP, ping, "MCP-Protocol-Version: 2025-11-25"), 200)
}

func TestNegotiatesRevisionsOfEndpoint(t *testing.T) {
	b := startHTTP(t, Options{})
	for asked, want := range map[string]spec.Revision{
		"2024-11-05": spec.V2025_11_25, "2025-03-26": spec.V2025_03_26, "2025-06-18": spec.V2025_06_18,
		"2025-11-25": spec.V2025_11_25, "2026-07-28": spec.V2025_11_25, "1999-01-01": spec.V2025_11_25,
	} {
		r := b.send("POST", pathMCP, fmt.Sprintf(initializeFormat, asked, "{}"))
		if got := r.lastMessage().Get("result.protocolVersion").String(); got != string(want) {
			t.Errorf("the server offers %[2]s for %[1]s, want %[3]s", asked, got, want)
		}
	}
	if _, err := Listen("0.0.0.0:0", Options{}); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("listening on all interfaces: %v, want an error", err)
	}
}

const (
	pingRequest = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	pingBatch   = `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`
)

// withVersionHeader are the revisions whose sessions have the version in a header.
var withVersionHeader = versionHeaderRevisions & spec.Handshake

// sessionStatuses are requests in a session with the status and code of the answer.
var sessionStatuses = []struct {
	name, method, body string
	headers            []string
	in                 spec.Set // zero: all
	status             int
	code               int64 // of the error in the body, 0 for none
}{
	{"a request", "POST", pingRequest, nil, 0, 200, 0},
	{"an error of a request", "POST", `{"jsonrpc":"2.0","id":7,"method":"x/y"}`, nil, 0, 200, -32601},
	{"a notification", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 0, 202, 0},
	{"an unknown notification", "POST", `{"jsonrpc":"2.0","method":"notifications/x"}`, nil, 0, 202, 0},
	{
		"a malformed notification", "POST", `{"jsonrpc":"2.0","method":"notifications/x","params":7}`, nil, 0,
		400, -32600,
	},
	{"a response to nothing", "POST", `{"jsonrpc":"2.0","id":"nobody","result":{}}`, nil, 0, 202, 0},
	{"a malformed response", "POST", `{"jsonrpc":"2.0","result":{}}`, nil, 0, 400, -32600},
	{"no JSON", "POST", `{"jsonrpc":`, nil, 0, 400, -32700},
	{"an empty body", "POST", " ", nil, 0, 400, -32700},
	{"no message", "POST", `{"jsonrpc":"2.0","id":7}`, nil, 0, 400, -32600},
	{"a batch", "POST", pingBatch, nil, batchRevisions(), 200, 0},
	{
		"a batch of notifications", "POST",
		`[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"nobody","result":{}}]`, nil,
		batchRevisions(), 202, 0,
	},
	{"an empty batch", "POST", `[]`, nil, batchRevisions(), 400, -32600},
	{"a batch where there is none", "POST", pingBatch, nil, withVersionHeader, 400, -32600},
	{"a second initialize", "POST", fmt.Sprintf(initializeFormat, "2025-11-25", "{}"), nil, 0, 200, -32600},
	{"no session id", "POST", pingRequest, []string{"Mcp-Session-Id:"}, 0, 400, -32600},
	{"a foreign session id", "POST", pingRequest, []string{"Mcp-Session-Id: nobody"}, 0, 404, -32600},
	{"no version", "POST", pingRequest, []string{"MCP-Protocol-Version:"}, 0, 200, 0},
	{"another version that is spoken", "POST", pingRequest, []string{"MCP-Protocol-Version: 2025-06-18"}, 0, 200, 0},
	{
		"an unknown version", "POST", pingRequest, []string{"MCP-Protocol-Version: 1999-01-01"},
		withVersionHeader, 400, -32600,
	},
	{
		"garbage for a version", "POST", pingRequest, []string{"MCP-Protocol-Version: garbage"},
		withVersionHeader, 400, -32600,
	},
	{
		"a header that the revision does not know", "POST", pingRequest, []string{"MCP-Protocol-Version: garbage"},
		batchRevisions(), 200, 0,
	},
	{"not JSON by its type", "POST", pingRequest, []string{"Content-Type: text/plain"}, 0, 415, -32600},
	{"no type", "POST", pingRequest, []string{"Content-Type:"}, 0, 415, -32600},
	{"not UTF-8", "POST", pingRequest, []string{"Content-Type: application/json; charset=latin1"}, 0, 415, -32600},
	{"UTF-8", "POST", pingRequest, []string{"Content-Type: application/json; charset=UTF-8"}, 0, 200, 0},
	{"accepts JSON alone", "POST", pingRequest, []string{"Accept: application/json"}, 0, 406, -32600},
	{"accepts streams alone", "POST", pingRequest, []string{"Accept: text/event-stream"}, 0, 406, -32600},
	{"refuses streams", "POST", pingRequest, []string{"Accept: */*, text/event-stream;q=0"}, 0, 406, -32600},
	{"accepts anything", "POST", pingRequest, []string{"Accept: */*"}, 0, 200, 0},
	{"accepts by kinds", "POST", pingRequest, []string{"Accept: application/*;q=0.5, text/*"}, 0, 200, 0},
	{"a GET that accepts no stream", "GET", "", []string{"Accept: application/json"}, 0, 406, -32600},
	{"a GET without session", "GET", "", []string{"Mcp-Session-Id:"}, 0, 400, -32600},
	{"a GET with an unknown version", "GET", "", []string{"MCP-Protocol-Version: 1"}, withVersionHeader, 400, -32600},
	{"a GET of a stateless revision", "GET", "", []string{"MCP-Protocol-Version: 2026-07-28"}, 0, 405, -32600},
	{"a DELETE without session", "DELETE", "", []string{"Mcp-Session-Id:"}, 0, 400, -32600},
	{"a DELETE of another session", "DELETE", "", []string{"Mcp-Session-Id: nobody"}, 0, 404, -32600},
	{
		"a DELETE of a stateless revision", "DELETE", "", []string{"MCP-Protocol-Version: 2026-07-28"}, 0, 405,
		-32600,
	},
	{"a PUT", "PUT", pingRequest, nil, 0, 405, -32600},
	{"OPTIONS", "OPTIONS", "", nil, 0, 405, -32600},
}

func TestSessionStatuses(t *testing.T) {
	for _, c := range sessionStatuses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.in == 0 {
				c.in = sessionRevisions
			}
			b := startHTTP(t, Options{})
			for _, rev := range c.in.Revisions() {
				s := b.openSession(rev, "{}")
				r := b.wantStatus(b.send(c.method, pathMCP, c.body, slices.Concat(s.headers, c.headers)...), c.status)
				if got := r.lastMessage().Get("error.code").Int(); got != c.code {
					t.Errorf("%s: code %d, want %d: %s", rev, got, c.code, r.body)
				}
				if r.body != "" && r.header.Get("Content-Type") != "application/json" {
					t.Errorf("%s: the type of the body is %q", rev, r.header.Get("Content-Type"))
				}
				if r.status == 405 && r.header.Get("Allow") == "" {
					t.Errorf("%s: 405 without Allow", rev)
				}
			}
		})
	}
}

// batchRevisions returns the revisions that have batches.
func batchRevisions() (out spec.Set) {
	for _, v := range spec.Revisions() {
		if v.Facts().Batches {
			out |= spec.Only(v)
		}
	}
	return out
}

func TestListensOnFurtherHosts(t *testing.T) {
	other, ok := SecondLoopbackAddress()
	if !ok {
		t.Skip("the loopback interface has one address")
	}
	reached := func(also ...string) bool {
		l, err := Listen("127.0.0.1:0", Options{HTTP: HTTP{ExtraHosts: also}})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.addr.String())
		c, err := net.Dial("tcp", net.JoinHostPort(other.String(), port))
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	if reached() || !reached(other.String()) {
		t.Errorf("%s is reached: by default %v, with Also %v", other, reached(), reached(other.String()))
	}
	if _, err := Listen("127.0.0.1:0", Options{HTTP: HTTP{ExtraHosts: []string{"192.0.2.77"}}}); err == nil {
		t.Error("listening on an address that this machine lacks is no error")
	}
}
