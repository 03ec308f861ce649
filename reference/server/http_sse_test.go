package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestHTTPWithSSE(t *testing.T) {
	b := listening(t, Options{})
	connect := func() (*live, string) {
		l := b.open("GET", pathSSE, "", "Accept: text/event-stream")
		e, _ := l.next()
		if e.name != "endpoint" || !strings.HasPrefix(e.data, "/messages?session=") {
			t.Fatalf("it begins with %+v", e)
		}
		return l, e.data
	}
	l, endpoint := connect()
	_, other := connect()
	b.want(b.send("POST", endpoint, fmt.Sprintf(initializing, "2025-11-25", "{}")), 202)
	e, _ := l.next()
	if e.name != "message" || e.id != "" || !strings.Contains(e.data, `"protocolVersion":"2024-11-05"`) {
		t.Errorf("initialize is answered with %+v", e)
	}
	b.want(b.send("POST", endpoint, `{"jsonrpc":"2.0","method":"notifications/initialized"}`), 202)
	b.want(b.send("POST", endpoint, `{"jsonrpc":"2.0","id":2,"method":"x/y"}`), 202)
	if m := l.message(); m.Get("error.code").Int() != spec.MethodNotFound {
		t.Errorf("x/y is answered with %s", m)
	}
	b.want(b.send("POST", endpoint, `{"jsonrpc"`), 202)
	if m := l.message(); m.Get("error.code").Int() != spec.ParseError {
		t.Errorf("no JSON is answered with %s", m)
	}
	// Another connection is a session of its own.
	b.want(b.send("POST", other, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`), 202)
	b.want(b.send("POST", endpoint, `{"jsonrpc":"2.0","id":4,"method":"ping"}`), 202)
	if m := l.message(); m.Get("id").Int() != 4 {
		t.Errorf("the stream carries %s", m)
	}
	for _, c := range []struct {
		method, path, header string
		status               int
	}{
		{"POST", pathSSE, "", 405}, // what a newer client asks first, to find out what is here
		{"DELETE", pathSSE, "", 405},
		{"GET", pathSSE, "Accept: application/json", 406},
		{"GET", endpoint, "", 405},
		{"POST", "/messages?session=nobody", "", 404},
		{"POST", "/messages", "", 404},
		{"POST", endpoint, "Content-Type: text/plain", 415},
		{"POST", "/elsewhere", "", 404},
	} {
		b.want(b.send(c.method, c.path, `{"jsonrpc":"2.0","id":4,"method":"ping"}`, c.header), c.status)
	}
	// Its session is none of streamable HTTP.
	_, id, _ := strings.Cut(endpoint, "=")
	b.want(b.send("POST", pathMCP, `{"jsonrpc":"2.0","id":4,"method":"ping"}`, "Mcp-Session-Id: "+id), 404)
	l.cancel()
	eventually(t, "the session ends with its stream", func() bool { return b.server.handler.findSession(id) == nil })
	b.want(b.send("POST", endpoint, `{"jsonrpc":"2.0","id":4,"method":"ping"}`), 404)
}

func TestOnlyWhatIsSpokenIsServed(t *testing.T) {
	for _, c := range []struct {
		revisions spec.Set
		mcp, sse  int
		urls      int
	}{
		{spec.Only(spec.V2024_11_05), 404, 200, 1},
		{spec.Only(spec.V2025_06_18), 200, 404, 1},
		{spec.Every, 200, 200, 2},
	} {
		b := listening(t, Options{Revisions: c.revisions})
		r := b.send("POST", pathMCP, fmt.Sprintf(initializing, "2025-06-18", "{}"))
		b.want(r, c.mcp)
		if len(b.server.URLs()) != c.urls {
			t.Errorf("%s is served at %q", c.revisions, b.server.URLs())
		}
		if c.sse == 200 {
			b.open("GET", pathSSE, "", "Accept: text/event-stream").cancel()
		} else {
			b.want(b.send("GET", pathSSE, ""), c.sse)
		}
	}
}

func TestWithoutSessionsEachPOSTStandsForItself(t *testing.T) {
	for _, prefer := range []bool{false, true} {
		b := listening(t, Options{HTTP: HTTP{SessionLess: true, PreferSSE: prefer}})
		eachRevision(t, sessions, func(t *testing.T, rev spec.Revision) {
			s := b.session(rev, "{}")
			r := s.want(s.send("POST", pathMCP, fmt.Sprintf(initializing, rev, "{}"), s.headers...), 200)
			if s.id != "" {
				t.Errorf("the session %q was minted", s.id)
			}
			for _, lacking := range []string{"tasks", "logging", "tools.listChanged", "resources.subscribe"} {
				if r.message().Get("result.capabilities." + lacking).Exists() {
					t.Errorf("%s is declared", lacking)
				}
			}
			s.want(s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), 200)
			s.want(s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Session-Id: any"), 200)
			s.want(s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "MCP-Protocol-Version: 1"), 400)
			s.want(s.post(`{"jsonrpc":"2.0","id":"nobody","result":{}}`), 202)
			r = s.want(s.post(toolCall("a", "stocktake", `{"duration_ms":10,"steps":1}`)), 200)
			if got := methodsOf(r.messages()); len(got) != 2 || r.events[0].id != "" {
				t.Errorf("a call is answered with %v", r.events)
			}
			r = s.post(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`)
			if got := r.message().Get("error.code").Int(); got != spec.MethodNotFound {
				t.Errorf("a level that is not kept is answered with %d", got)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	b := listening(t, Options{HTTP: HTTP{MaxBody: 1000, MaxSessions: 2, Idle: time.Minute}})
	s := b.session(spec.V2025_11_25, "{}")
	b.want(s.post(strings.Repeat(" ", 1000)+ping), 413)
	s.listen() // so that it is not idle
	idle := b.session(spec.V2025_11_25, "{}")
	b.session(spec.V2025_11_25, "{}").listen()
	b.want(s.post(ping), 200)
	b.want(idle.post(ping), 404)
	if r := b.want(b.send("POST", pathMCP, fmt.Sprintf(initializing, "2025-11-25", "{}")), 503); r.header.Get("Retry-After") == "" {
		t.Errorf("its headers are %v", r.header)
	}

	b = listening(t, Options{HTTP: HTTP{Idle: 50 * time.Millisecond}})
	quiet, busy := b.session(spec.V2025_11_25, "{}"), b.session(spec.V2025_11_25, "{}")
	l := busy.listen()
	eventually(t, "the session expires", func() bool { return b.server.handler.findSession(quiet.id) == nil })
	b.want(quiet.post(ping), 404)
	if b.server.handler.findSession(busy.id) == nil {
		t.Error("a session that listens expires")
	}
	l.cancel()
	eventually(t, "the other one expires", func() bool { return b.server.handler.findSession(busy.id) == nil })
}
