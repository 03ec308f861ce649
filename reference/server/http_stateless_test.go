package server

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// mirrored adds tools that want arguments repeated in headers.
func addWeighTool(l *Library) {
	l.Tools = append(l.Tools, &Tool{
		Name: "weigh", Description: "Weighs", Hints: readOnly, In: spec.Stateless,
		Input: Object{"type": "object", "properties": Object{
			"count": Object{"type": "integer", "x-mcp-header": "Count"},
			"fine":  Object{"type": "boolean", "x-mcp-header": "Fine"},
			"place": Object{
				"type": "object", "properties": Object{"room": Object{"type": "string", "x-mcp-header": "Room"}},
			},
			"plain": Object{"type": "string"},
		}},
		Run: func(context.Context, *Call) Outcome { return textOutcome("weighed") },
	})
}

// ask makes a stateless request and its headers.
func statelessRequest(id int, method string, members ...string) (body string, headers []string) {
	p := testClient{revision: spec.V2026_07_28}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, p.params("{}", members...)),
		[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
}

func TestStatelessRequests(t *testing.T) {
	const (
		book    = `"uri":"library://books/b1"`
		onBook  = "Mcp-Name: library://books/b1"
		search  = `"name":"search_catalogue","arguments":{"query":"fog"}`
		onWeigh = "Mcp-Name: weigh"
		encoded = "Mcp-Name: =?base64?bGlicmFyeTovL2Jvb2tzL2Ix?="
		bare    = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`
	)
	weigh := func(arguments string) []string { return []string{`"name":"weigh"`, `"arguments":` + arguments} }
	for _, c := range []struct {
		name, method string
		members      []string
		headers      []string // over those that the request should have
		status, code int
	}{
		{"discover", "server/discover", nil, nil, 200, 0},
		{"a session id is ignored", "server/discover", nil, []string{"Mcp-Session-Id: nobody"}, 200, 0},
		{"an event id is ignored", "server/discover", nil, []string{"Last-Event-ID: p1-1"}, 200, 0},
		{"no version", "server/discover", nil, []string{"MCP-Protocol-Version:"}, 400, -32020},
		{"another version", "server/discover", nil, []string{"MCP-Protocol-Version: 2025-11-25"}, 400, -32020},
		{"no method", "server/discover", nil, []string{"Mcp-Method:"}, 400, -32020},
		{"another method", "server/discover", nil, []string{"Mcp-Method: tools/list"}, 400, -32020},
		{"the method in another case", "server/discover", nil, []string{"Mcp-Method: Server/Discover"}, 400, -32020},
		{
			"an encoded method", "server/discover", nil, []string{"Mcp-Method: =?base64?c2VydmVyL2Rpc2NvdmVy?="},
			400, -32020,
		},
		{"no name where none is due", "tools/list", nil, nil, 200, 0},
		{"no name", "resources/read", []string{book}, nil, 400, -32020},
		{"a name", "resources/read", []string{book}, []string{onBook}, 200, 0},
		{"another name", "resources/read", []string{book}, []string{"Mcp-Name: library://books/b2"}, 400, -32020},
		{
			"the name in another case", "resources/read", []string{book}, []string{"Mcp-Name: library://books/B1"},
			400, -32020,
		},
		{"an encoded name", "resources/read", []string{book}, []string{encoded}, 200, 0},
		{
			"markers in capitals", "resources/read", []string{book},
			[]string{"Mcp-Name: =?BASE64?bGlicmFyeTovL2Jvb2tzL2Ix?="}, 400, -32020,
		},
		{
			"bad padding", "resources/read", []string{book},
			[]string{"Mcp-Name: =?base64?bGlicmFyeTovL2Jvb2tzL2Ix=?="}, 400, -32020,
		},
		{"bad alphabet", "resources/read", []string{book}, []string{"Mcp-Name: =?base64?bGli cmFy-_?="}, 400, -32020},
		{"a name that is not there", "resources/read", nil, []string{onBook}, 200, -32602},
		{
			"a resource that is not there", "resources/read", []string{`"uri":"no://where"`},
			[]string{"Mcp-Name: no://where"}, 200, -32602,
		},
		{
			"an unknown header of a parameter", "tools/call", []string{search},
			[]string{"Mcp-Name: search_catalogue", "Mcp-Param-Bogus: x"}, 200, 0,
		},
		{"an unknown method", "x/y", nil, nil, 404, -32601},
		{"a method of the other era", "ping", nil, nil, 404, -32601},
		{"initialize with _meta", "initialize", nil, nil, 404, -32601},
		{
			"a mirrored parameter", "tools/call", weigh(`{"count":42}`), []string{onWeigh, "Mcp-Param-Count: 42"},
			200, 0,
		},
		{
			"as another spelling of the number", "tools/call", weigh(`{"count":42}`),
			[]string{onWeigh, "Mcp-Param-Count: 42.0"}, 200, 0,
		},
		{
			"encoded", "tools/call", weigh(`{"count":42}`), []string{onWeigh, "Mcp-Param-Count: =?base64?NDI=?="},
			200, 0,
		},
		{
			"in another case of the name", "tools/call", weigh(`{"count":42}`),
			[]string{onWeigh, "mcp-PARAM-count: 42"}, 200, 0,
		},
		{
			"another number", "tools/call", weigh(`{"count":42}`), []string{onWeigh, "Mcp-Param-Count: 43"}, 400,
			-32020,
		},
		{"no number", "tools/call", weigh(`{"count":42}`), []string{onWeigh, "Mcp-Param-Count: many"}, 400, -32020},
		{"missing", "tools/call", weigh(`{"count":42}`), []string{onWeigh}, 400, -32020},
		{"null", "tools/call", weigh(`{"count":null}`), []string{onWeigh}, 200, 0},
		{"not there", "tools/call", weigh(`{}`), []string{onWeigh}, 200, 0},
		{
			"not there, but in the header", "tools/call", weigh(`{}`), []string{onWeigh, "Mcp-Param-Count: 42"},
			400, -32020,
		},
		{"a boolean", "tools/call", weigh(`{"fine":true}`), []string{onWeigh, "Mcp-Param-Fine: true"}, 200, 0},
		{
			"a boolean in another case", "tools/call", weigh(`{"fine":true}`),
			[]string{onWeigh, "Mcp-Param-Fine: True"}, 400, -32020,
		},
		{
			"one inside another", "tools/call", weigh(`{"place":{"room":"Grüße"}}`),
			[]string{onWeigh, "Mcp-Param-Room: =?base64?R3LDvMOfZQ==?="}, 200, 0,
		},
		{"one inside another missing", "tools/call", weigh(`{"place":{"room":"x"}}`), []string{onWeigh}, 400, -32020},
		{
			"raw bytes beyond ASCII", "tools/call", weigh(`{"place":{"room":"Grüße"}}`),
			[]string{onWeigh, "Mcp-Param-Room: Grüße"}, 400, -32020,
		},
		{"no _meta", bare, nil, []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"}, 400, -32602},
		{
			"no capabilities",
			`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			nil, []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"}, 400, -32602,
		},
		{
			"a version that is not spoken",
			`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			nil, []string{"MCP-Protocol-Version: 1900-01-01", "Mcp-Method: tools/list"}, 400, -32022,
		},
		{
			"a version that is not spoken, in the header alone", bare, nil,
			[]string{"MCP-Protocol-Version: 1900-01-01"}, 400, -32022,
		},
		{
			"a capability that the client lacks", "tools/call",
			[]string{`"name":"register_reader"`, `"arguments":{}`}, []string{"Mcp-Name: register_reader"}, 400,
			-32021,
		},
		{
			"a notification", `{"jsonrpc":"2.0","method":"notifications/x"}`, nil,
			[]string{"MCP-Protocol-Version: 2026-07-28"}, 202, 0,
		},
		{
			"a malformed notification", `{"jsonrpc":"2.0","method":"notifications/x","params":[]}`, nil,
			[]string{"MCP-Protocol-Version: 2026-07-28"}, 400, -32602,
		},
		{
			"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, []string{"MCP-Protocol-Version: 2026-07-28"},
			400, -32600,
		},
		{"a batch", `[]`, nil, []string{"MCP-Protocol-Version: 2026-07-28"}, 400, -32600},
		{"no JSON", `{`, nil, []string{"MCP-Protocol-Version: 2026-07-28"}, 400, -32700},
	} {
		for name, o := range map[string]Options{
			"dual era": {Library: addWeighTool}, "one era": {Library: addWeighTool, Revisions: spec.Stateless},
			"streams": {Library: addWeighTool, HTTP: HTTP{PreferSSE: true}},
		} {
			if c.name == "a version that is not spoken, in the header alone" && name == "one era" {
				continue // there the request is one without _meta
			}
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				b := startHTTP(t, o)
				body, headers := c.method, []string{}
				if !strings.HasPrefix(body, "{") && !strings.HasPrefix(body, "[") {
					body, headers = statelessRequest(7, c.method, c.members...)
				}
				r := b.wantStatus(b.send("POST", pathMCP, body, slices.Concat(headers, c.headers)...), c.status)
				if got := r.lastMessage().Get("error.code").Int(); got != int64(c.code) {
					t.Errorf("code %d, want %d: %s", got, c.code, r.body)
				}
				if strings.Contains(body, `"id":7`) && r.lastMessage().Get("id").Raw != "7" {
					t.Errorf("the answer names another request: %s", r.body)
				}
				if _, minted := r.header["Mcp-Session-Id"]; minted {
					t.Error("a session was minted")
				}
				if stream := r.events != nil; stream != (o.HTTP.PreferSSE && c.status == 200) {
					t.Errorf("a stream is %v: %v", stream, r.header)
				}
				for _, e := range r.events {
					if e.id != "" {
						t.Errorf("a stream that cannot be resumed has the event %v", e)
					}
				}
			})
		}
	}
}

// The requests of the tasks extension repeat the id of their task, where the
// server has the extension (SEP-2663, routing headers).
func TestTaskRequestsRepeatIDInHeader(t *testing.T) {
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, c := range []struct {
			name         string
			official     bool
			header       []string
			status, code int
		}{
			{"the id", true, []string{"Mcp-Name: t1"}, 200, spec.InvalidParams}, // no such task
			{"the id encoded", true, []string{"Mcp-Name: =?base64?dDE=?="}, 200, spec.InvalidParams},
			{"another id", true, []string{"Mcp-Name: t2"}, 400, spec.HeaderMismatch},
			{"no id", true, nil, 400, spec.HeaderMismatch},
			{"no extension", false, []string{"Mcp-Name: t2"}, 404, spec.MethodNotFound},
		} {
			t.Run(method+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				b := startHTTP(t, Options{Official: c.official})
				p := testClient{revision: spec.V2026_07_28}
				body := fmt.Sprintf(
					`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method,
					p.params(tasksCapabilities, `"taskId":"t1"`, `"inputResponses":{}`),
				)
				headers := append([]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}, c.header...)
				r := b.wantStatus(b.send("POST", pathMCP, body, headers...), c.status)
				if got := r.lastMessage().Get("error.code").Int(); got != int64(c.code) {
					t.Errorf("code %d, want %d: %s", got, c.code, r.body)
				}
			})
		}
	}
}

func TestWithoutSessionsAllowsOnlyPOST(t *testing.T) {
	for name, o := range map[string]Options{
		"stateless revisions":        {Revisions: spec.Stateless},
		"handshake without sessions": {HTTP: HTTP{SessionLess: true}},
	} {
		b := startHTTP(t, o)
		for _, method := range []string{"GET", "DELETE", "PUT"} {
			r := b.wantStatus(b.send(method, pathMCP, ""), 405)
			if r.header.Get("Allow") != "POST" {
				t.Errorf("%s: %s is answered with Allow %q", name, method, r.header.Get("Allow"))
			}
		}
		// It tells a client that opens by initialize what it speaks.
		if o.Revisions != 0 {
			r := b.wantStatus(b.send("POST", pathMCP, fmt.Sprintf(initializeFormat, "2025-11-25", "{}")), 400)
			if !strings.Contains(r.body, "2026-07-28") {
				t.Errorf("%s: initialize is answered with %s", name, r.body)
			}
		}
	}
}

// Requests of different clients may have the same id, and each is answered.
func TestStatelessRequestsShareIDs(t *testing.T) {
	b := startHTTP(t, Options{})
	body, headers := statelessRequest(1, "tools/call", `"name":"stocktake","arguments":{"duration_ms":100,"steps":1}`)
	done := make(chan httpResponse, 5)
	for range 5 {
		go func() { done <- b.send("POST", pathMCP, body, append(slices.Clip(headers), "Mcp-Name: stocktake")...) }()
	}
	for range 5 {
		if r := b.wantStatus(<-done, 200); r.lastMessage().Get("result.content").String() == "" {
			t.Errorf("got %s", r.body)
		}
	}
}

func TestLeavingCancelsOnlyStatelessRequests(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	b := startHTTP(t, Options{Handler: func(next Handler) Handler {
		return func(ctx context.Context, r *Request) (any, *Error) {
			v, e := next(ctx, r)
			if r.Method == "tools/call" {
				ended <- ctx.Err()
			}
			return v, e
		}
	}})
	body, headers := statelessRequest(
		1, "tools/call", `"name":"stocktake","arguments":{"duration_ms":5000,"steps":50}`,
	)
	body = strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
	l := b.openStream("POST", pathMCP, body, append(headers, "Mcp-Name: stocktake")...)
	l.nextMessage()
	l.cancel()
	if err := <-ended; err == nil {
		t.Error("the call went on to its end")
	}

	// The same while it waits for JSON.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	body, headers = statelessRequest(
		2, "tools/call", `"name":"stocktake","arguments":{"duration_ms":5000,"steps":50}`,
	)
	if err := b.postAndLeave(ctx, body, append(headers, "Mcp-Name: stocktake")...); err == nil {
		t.Fatal("the call was answered at once")
	}
	if err := <-ended; err == nil {
		t.Error("the call that waits for JSON went on to its end")
	}

	s := b.openSession(spec.V2025_11_25, "{}")
	l = s.openStream("POST", pathMCP, toolCallLine("a", "stocktake", `{"duration_ms":200,"steps":2}`), s.headers...)
	l.nextMessage()
	l.cancel()
	if err := <-ended; err != nil {
		t.Errorf("the call of a session ended with %v", err)
	}
}

func TestSubscriptionIsStream(t *testing.T) {
	b := startHTTP(t, Options{HTTP: HTTP{KeepAlive: 1e6}})
	body, headers := statelessRequest(1, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
	l := b.openStream("POST", pathMCP, body, headers...)
	if l.header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("its headers are %v", l.header)
	}
	if m := l.nextMessage(); m.Get("method").String() != "notifications/subscriptions/acknowledged" {
		t.Fatalf("it begins with %s", m)
	}
	call, on := statelessRequest(1, "tools/call", `"name":"set_reading_room","arguments":{"open":true}`)
	if r := b.wantStatus(b.send("POST", pathMCP, call, append(on, "Mcp-Name: set_reading_room")...), 200); r.events != nil {
		t.Errorf("the call is answered with %v", r.events)
	}
	if m := l.nextMessage(); m.Get("method").String() != "notifications/tools/list_changed" {
		t.Errorf("it goes on with %s", m)
	}
	go b.server.handler.Close()
	if m := l.nextMessage(); !m.Get("result").Exists() || m.Get("id").Int() != 1 {
		t.Errorf("it ends with %s", m)
	}
	if more := l.readRest(); len(more) > 0 {
		t.Errorf("behind its end comes %v", more)
	}
}

// Bytes on a socket: what net/http would not send.
func TestRawHeaders(t *testing.T) {
	b := startHTTP(t, Options{})
	body, _ := statelessRequest(1, "server/discover")
	for _, c := range []struct {
		name, headers string
		status        int
	}{
		{
			"odd case of header names",
			"aCCept: " + acceptBoth + "\r\ncontent-TYPE: application/json\r\nmcp-PROTOCOL-version: 2026-07-28\r\nmcp-method: server/discover\r\n",
			200,
		},
		{
			"white space around a value",
			"Accept: " + acceptBoth + "\r\nContent-Type: application/json\r\nMCP-Protocol-Version:   2026-07-28  \r\nMcp-Method: \t server/discover \t\r\n",
			200,
		},
		{
			"a header twice",
			"Accept: " + acceptBoth + "\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\nMcp-Method: server/discover\r\n",
			400,
		},
		{
			"Accept on two lines",
			"Accept: application/json\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n",
			200,
		},
	} {
		if got := sendRaw(t, b, "POST "+pathMCP, "Host: localhost\r\n"+c.headers, body); got != c.status {
			t.Errorf("%s: status %d, want %d", c.name, got, c.status)
		}
	}
}

// raw writes a request to a socket and returns the status of the answer.
func sendRaw(t *testing.T, b *httpClient, line, headers, body string) int {
	t.Helper()
	c, err := net.Dial("tcp", b.server.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "%s HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s", line, len(body), headers, body); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func TestSlowBodyTimesOut(t *testing.T) {
	t.Parallel()
	b := startHTTP(t, Options{HTTP: HTTP{Slow: 50 * time.Millisecond}})
	headers := "Host: localhost\r\nAccept: " + acceptBoth + "\r\nContent-Type: application/json\r\n"
	c, err := net.Dial("tcp", b.server.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\n%sContent-Length: 100\r\n\r\n{", headers)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("half a body is answered with %s", res.Status)
	}
	// Who takes its time with nothing else in hand is not.
	l := b.openSession(spec.V2025_11_25, "{}").openGetStream()
	time.AfterFunc(150*time.Millisecond, func() { b.server.handler.Close() })
	began := time.Now()
	for _, e := range l.readRest() {
		if e.data != "" {
			t.Errorf("the stream carried %+v", e)
		}
	}
	if time.Since(began) < 100*time.Millisecond {
		t.Error("a quiet stream was cut off")
	}
}

func TestRefusesForeignHostAndOrigin(t *testing.T) {
	b := startHTTP(t, Options{})
	_, port, _ := net.SplitHostPort(b.server.addr.String())
	s := b.openSession(spec.V2025_11_25, "{}")
	own := "127.0.0.1:" + port
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	for _, c := range []struct{ host, origin string }{
		{own, "http://evil.example"},
		{own, "null"},
		{own, "http://127.0.0.1:" + port + ".evil.example"},
		{own, "http://127.0.0.1.evil.example:" + port},
		{own, "http://evil.example:" + port},
		{own, "http://localhost:1"},
		{own, "http://localhost"},
		{own, "http://127.0.0.1:" + port + "@evil.example"},
		{own, "http://evil.example#@127.0.0.1:" + port},
		{own, "http://user@127.0.0.1:" + port},
		{own, "http://127.0.0.1:" + port + "/"},
		{own, "http://127.0.0.1:0" + port},
		{own, "https://127.0.0.1:" + port},
		{own, "file://"},
		{own, "http://evil.example, http://127.0.0.1:" + port},
		{own, "http://127.0.0.1:" + port + "\r\nOrigin: http://evil.example"},
		{"evil.example:" + port, ""},
		{"evil.example:" + port, "http://evil.example:" + port},
		{"127.0.0.1.evil.example", ""},
		{"localhost.", ""},
		{"127.0.0.1:" + port + "x", ""},
		{"[::1].evil.example", ""},
		{"0.0.0.0:" + port, ""},
	} {
		headers := "Host: " + c.host + "\r\nAccept: " + acceptBoth + "\r\nContent-Type: application/json\r\nMcp-Session-Id: " + s.id + "\r\n"
		if c.origin != "" {
			headers += "Origin: " + c.origin + "\r\n"
		}
		for _, line := range []string{
			"POST /mcp", "GET /mcp", "DELETE /mcp", "GET /sse", "POST /messages?session=x",
		} {
			// A Host that is none at all is refused by net/http itself.
			if got := sendRaw(t, b, line, headers, ping); got != 403 && (got != 400 || c.origin != "") {
				t.Errorf("%s from %q at %q: status %d", line, c.origin, c.host, got)
			}
		}
	}
	b.wantStatus(s.post(ping), 200) // and the session lives
	for _, c := range []struct{ host, origin string }{
		{own, ""},
		{"localhost:" + port, "http://localhost:" + port},
		{own, "http://localhost:" + port},
		{"LOCALHOST:" + port, "http://[::1]:" + port},
		{"localhost", "http://localhost"},
	} {
		headers := []string{"Host: " + c.host, "Origin: " + c.origin}
		b.wantStatus(s.post(ping, headers...), 200)
	}
	open := startHTTP(t, Options{
		HTTP: HTTP{Hosts: []string{"library.example"}, Origins: []string{"https://reader.example"}},
	})
	init := fmt.Sprintf(initializeFormat, "2025-11-25", "{}")
	open.wantStatus(open.send("POST", pathMCP, init, "Host: library.example", "Origin: https://reader.example"), 200)
	open.wantStatus(
		open.send("POST", pathMCP, init, "Host: library.example", "Origin: https://reader.example:444"), 403,
	)
}
