package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestHTTPWithSSE(t *testing.T) {
	b := startHTTP(t, Options{})
	connect := func() (*liveStream, string) {
		l := b.openStream("GET", pathSSE, "", "Accept: text/event-stream")
		e, _ := l.nextEvent()
		if e.name != "endpoint" || !strings.HasPrefix(e.data, "/messages?session=") {
			t.Fatalf("the first event is %+v, want an endpoint", e)
		}
		return l, e.data
	}
	l, endpoint := connect()
	_, other := connect()
	b.wantStatus(b.send("POST", endpoint, fmt.Sprintf(initializeFormat, "2025-11-25", "{}")), 202)
	e, _ := l.nextEvent()
	if e.name != "message" || e.id != "" || !strings.Contains(e.data, `"protocolVersion":"2024-11-05"`) {
		t.Errorf("the answer to initialize is %+v", e)
	}
	b.wantStatus(b.send("POST", endpoint, `{"jsonrpc":"2.0","method":"notifications/initialized"}`), 202)
	b.wantStatus(b.send("POST", endpoint, `{"jsonrpc":"2.0","id":2,"method":"x/y"}`), 202)
	if m := l.nextMessage(); m.Get("error.code").Int() != spec.MethodNotFound {
		t.Errorf("the answer to x/y is %s", m)
	}
	b.wantStatus(b.send("POST", endpoint, `{"jsonrpc"`), 202)
	if m := l.nextMessage(); m.Get("error.code").Int() != spec.ParseError {
		t.Errorf("the answer to no JSON is %s", m)
	}
	// Another connection is a session of its own.
	b.wantStatus(b.send("POST", other, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`), 202)
	b.wantStatus(b.send("POST", endpoint, `{"jsonrpc":"2.0","id":4,"method":"ping"}`), 202)
	if m := l.nextMessage(); m.Get("id").Int() != 4 {
		t.Errorf("the stream carried %s", m)
	}
	for _, c := range []struct {
		method, path, header string
		status               int
	}{
		{"POST", pathSSE, "", 405}, // the first request of a newer client
		{"DELETE", pathSSE, "", 405},
		{"GET", pathSSE, "Accept: application/json", 406},
		{"GET", endpoint, "", 405},
		{"POST", "/messages?session=nobody", "", 404},
		{"POST", "/messages", "", 404},
		{"POST", endpoint, "Content-Type: text/plain", 415},
		{"POST", "/elsewhere", "", 404},
	} {
		b.wantStatus(b.send(c.method, c.path, `{"jsonrpc":"2.0","id":4,"method":"ping"}`, c.header), c.status)
	}
	// Its session is not one of streamable HTTP.
	_, id, _ := strings.Cut(endpoint, "=")
	b.wantStatus(b.send("POST", pathMCP, `{"jsonrpc":"2.0","id":4,"method":"ping"}`, "Mcp-Session-Id: "+id), 404)
	l.cancel()
	waitUntil(t, "the session ends with its stream", func() bool { return b.server.handler.findSession(id) == nil })
	b.wantStatus(b.send("POST", endpoint, `{"jsonrpc":"2.0","id":4,"method":"ping"}`), 404)
}

func TestServesEndpointsOfRevisions(t *testing.T) {
	for _, c := range []struct {
		revisions spec.Set
		mcp, sse  int
		urls      int
	}{
		{spec.Only(spec.V2024_11_05), 404, 200, 1},
		{spec.Only(spec.V2025_06_18), 200, 404, 1},
		{spec.Every, 200, 200, 2},
	} {
		b := startHTTP(t, Options{Revisions: c.revisions})
		r := b.send("POST", pathMCP, fmt.Sprintf(initializeFormat, "2025-06-18", "{}"))
		b.wantStatus(r, c.mcp)
		if len(b.server.URLs()) != c.urls {
			t.Errorf("%s has the URLs %q", c.revisions, b.server.URLs())
		}
		if c.sse == 200 {
			b.openStream("GET", pathSSE, "", "Accept: text/event-stream").cancel()
		} else {
			b.wantStatus(b.send("GET", pathSSE, ""), c.sse)
		}
	}
}

func TestWithoutSessionsPOSTsAreIndependent(t *testing.T) {
	for _, prefer := range []bool{false, true} {
		b := startHTTP(t, Options{HTTP: HTTP{Sessionless: true, PreferSSE: prefer}})
		eachRevision(t, sessionRevisions, func(t *testing.T, rev spec.Revision) {
			s := b.openSession(rev, "{}")
			r := s.wantStatus(s.send("POST", pathMCP, fmt.Sprintf(initializeFormat, rev, "{}"), s.headers...), 200)
			if s.id != "" {
				t.Errorf("the session id %q was assigned", s.id)
			}
			for _, lacking := range []string{"tasks", "logging", "tools.listChanged", "resources.subscribe"} {
				if r.lastMessage().Get("result.capabilities." + lacking).Exists() {
					t.Errorf("the capability %s is declared", lacking)
				}
			}
			s.wantStatus(s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), 200)
			s.wantStatus(s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Session-Id: any"), 200)
			s.wantStatus(s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "MCP-Protocol-Version: 1"), 400)
			s.wantStatus(s.post(`{"jsonrpc":"2.0","id":"nobody","result":{}}`), 202)
			r = s.wantStatus(s.post(toolCallLine("a", "stocktake", `{"duration_ms":10,"steps":1}`)), 200)
			if got := methodsOf(r.messages()); len(got) != 2 || r.events[0].id != "" {
				t.Errorf("the answer to a call is %v", r.events)
			}
			r = s.post(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`)
			if got := r.lastMessage().Get("error.code").Int(); got != spec.MethodNotFound {
				t.Errorf("the answer to logging/setLevel has the code %d", got)
			}
		})
	}
}

func TestHTTPLimits(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	b := startHTTP(t, Options{HTTP: HTTP{MaxBody: 1000, MaxSessions: 2, Idle: time.Minute}})
	s := b.openSession(spec.V2025_11_25, "{}")
	b.wantStatus(s.post(strings.Repeat(" ", 1000)+ping), 413)
	s.openGetStream() // keeps it from being idle
	idle := b.openSession(spec.V2025_11_25, "{}")
	b.openSession(spec.V2025_11_25, "{}").openGetStream()
	b.wantStatus(s.post(ping), 200)
	b.wantStatus(idle.post(ping), 404)
	r := b.wantStatus(b.send("POST", pathMCP, fmt.Sprintf(initializeFormat, "2025-11-25", "{}")), 503)
	if r.header.Get("Retry-After") == "" {
		t.Errorf("the headers lack Retry-After: %v", r.header)
	}

	b = startHTTP(t, Options{HTTP: HTTP{Idle: 50 * time.Millisecond}})
	quiet, busy := b.openSession(spec.V2025_11_25, "{}"), b.openSession(spec.V2025_11_25, "{}")
	l := busy.openGetStream()
	waitUntil(t, "the session expires", func() bool { return b.server.handler.findSession(quiet.id) == nil })
	b.wantStatus(quiet.post(ping), 404)
	if b.server.handler.findSession(busy.id) == nil {
		t.Error("a session with an open stream expired")
	}
	l.cancel()
	waitUntil(t, "the other session expires", func() bool { return b.server.handler.findSession(busy.id) == nil })
}
