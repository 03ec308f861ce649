package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// addWeighTool adds a tool whose arguments requests repeat in headers.
func addWeighTool(l *Features) {
	l.Tools = append(l.Tools, &Tool{
		Name: "weigh", Description: "Weighs", Annotations: readOnly, In: spec.Stateless,
		InputSchema: Object{"type": "object", "properties": Object{
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

// statelessRequest returns a stateless request and its headers.
func statelessRequest(id int, method string, members ...string) (body string, headers []string) {
	p := testClient{revision: spec.V2026_07_28}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, p.params("{}", members...)),
		[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
}

const (
	bookURI          = `"uri":"library://books/b1"`
	bookName         = "Mcp-Name: library://books/b1"
	searchFog        = `"name":"search_catalogue","arguments":{"query":"fog"}`
	weighName        = "Mcp-Name: weigh"
	encodedBookName  = "Mcp-Name: =?base64?bGlicmFyeTovL2Jvb2tzL2Ix?="
	listWithoutMeta  = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`
	statelessVersion = "MCP-Protocol-Version: 2026-07-28"
)

// listWithMeta returns a tools/list with the members of _meta.
func listWithMeta(meta string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{` + meta + `}}}`
}

// weighParams returns the members of a call of the tool that addWeighTool adds.
func weighParams(arguments string) []string {
	return []string{`"name":"weigh"`, `"arguments":` + arguments}
}

// statelessRequests are requests with the status and code of the answer.
var statelessRequests = []struct {
	name, method string
	members      []string
	headers      []string // instead of those that the request should have
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
	{"no name is required", "tools/list", nil, nil, 200, 0},
	{"no name", "resources/read", []string{bookURI}, nil, 400, -32020},
	{"a name", "resources/read", []string{bookURI}, []string{bookName}, 200, 0},
	{"another name", "resources/read", []string{bookURI}, []string{"Mcp-Name: library://books/b2"}, 400, -32020},
	{
		"the name in another case", "resources/read", []string{bookURI}, []string{"Mcp-Name: library://books/B1"},
		400, -32020,
	},
	{"an encoded name", "resources/read", []string{bookURI}, []string{encodedBookName}, 200, 0},
	{
		"encoding markers in upper case", "resources/read", []string{bookURI},
		[]string{"Mcp-Name: =?BASE64?bGlicmFyeTovL2Jvb2tzL2Ix?="}, 400, -32020,
	},
	{
		"bad padding", "resources/read", []string{bookURI},
		[]string{"Mcp-Name: =?base64?bGlicmFyeTovL2Jvb2tzL2Ix=?="}, 400, -32020,
	},
	{"bad alphabet", "resources/read", []string{bookURI}, []string{"Mcp-Name: =?base64?bGli cmFy-_?="}, 400, -32020},
	{"a name that the body lacks", "resources/read", nil, []string{bookName}, 200, -32602},
	{
		"a missing resource", "resources/read", []string{`"uri":"no://where"`},
		[]string{"Mcp-Name: no://where"}, 200, -32602,
	},
	{
		"an unknown header of a parameter", "tools/call", []string{searchFog},
		[]string{"Mcp-Name: search_catalogue", "Mcp-Param-Bogus: x"}, 200, 0,
	},
	{"an unknown method", "x/y", nil, nil, 404, -32601},
	{"a method of the other era", "ping", nil, nil, 404, -32601},
	{"initialize with _meta", "initialize", nil, nil, 404, -32601},
	{
		"a repeated argument", "tools/call", weighParams(`{"count":42}`), []string{weighName, "Mcp-Param-Count: 42"},
		200, 0,
	},
	{
		"another notation of the number", "tools/call", weighParams(`{"count":42}`),
		[]string{weighName, "Mcp-Param-Count: 42.0"}, 200, 0,
	},
	{
		"an encoded argument", "tools/call", weighParams(`{"count":42}`),
		[]string{weighName, "Mcp-Param-Count: =?base64?NDI=?="},
		200, 0,
	},
	{
		"the header name in another case", "tools/call", weighParams(`{"count":42}`),
		[]string{weighName, "mcp-PARAM-count: 42"}, 200, 0,
	},
	{
		"another number", "tools/call", weighParams(`{"count":42}`), []string{weighName, "Mcp-Param-Count: 43"}, 400,
		-32020,
	},
	{"no number", "tools/call", weighParams(`{"count":42}`), []string{weighName, "Mcp-Param-Count: many"}, 400, -32020},
	{"no header", "tools/call", weighParams(`{"count":42}`), []string{weighName}, 400, -32020},
	{"a null argument", "tools/call", weighParams(`{"count":null}`), []string{weighName}, 200, 0},
	{"no argument", "tools/call", weighParams(`{}`), []string{weighName}, 200, 0},
	{
		"a header without argument", "tools/call", weighParams(`{}`), []string{weighName, "Mcp-Param-Count: 42"},
		400, -32020,
	},
	{"a boolean", "tools/call", weighParams(`{"fine":true}`), []string{weighName, "Mcp-Param-Fine: true"}, 200, 0},
	{
		"a boolean in another case", "tools/call", weighParams(`{"fine":true}`),
		[]string{weighName, "Mcp-Param-Fine: True"}, 400, -32020,
	},
	{
		"a nested argument", "tools/call", weighParams(`{"place":{"room":"Grüße"}}`),
		[]string{weighName, "Mcp-Param-Room: =?base64?R3LDvMOfZQ==?="}, 200, 0,
	},
	{
		"a nested argument without header", "tools/call", weighParams(`{"place":{"room":"x"}}`),
		[]string{weighName}, 400, -32020,
	},
	{
		"raw bytes beyond ASCII", "tools/call", weighParams(`{"place":{"room":"Grüße"}}`),
		[]string{weighName, "Mcp-Param-Room: Grüße"}, 400, -32020,
	},
	{"no _meta", listWithoutMeta, nil, []string{statelessVersion, "Mcp-Method: tools/list"}, 400, -32602},
	{
		"no capabilities", listWithMeta(`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`),
		nil, []string{statelessVersion, "Mcp-Method: tools/list"}, 400, -32602,
	},
	{
		"an unsupported version",
		listWithMeta(`"io.modelcontextprotocol/protocolVersion":"1900-01-01",` +
			`"io.modelcontextprotocol/clientCapabilities":{}`),
		nil, []string{"MCP-Protocol-Version: 1900-01-01", "Mcp-Method: tools/list"}, 400, -32022,
	},
	{
		"an unsupported version in the header alone", listWithoutMeta, nil,
		[]string{"MCP-Protocol-Version: 1900-01-01"}, 400, -32022,
	},
	{
		"a capability that the client lacks", "tools/call",
		[]string{`"name":"register_reader"`, `"arguments":{}`}, []string{"Mcp-Name: register_reader"}, 400,
		-32021,
	},
	{
		"a notification", `{"jsonrpc":"2.0","method":"notifications/x"}`, nil, []string{statelessVersion}, 202, 0,
	},
	{
		"a malformed notification", `{"jsonrpc":"2.0","method":"notifications/x","params":[]}`, nil,
		[]string{statelessVersion}, 400, -32602,
	},
	{
		"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, []string{statelessVersion}, 400, -32600,
	},
	{"a batch", `[]`, nil, []string{statelessVersion}, 400, -32600},
	{"no JSON", `{`, nil, []string{statelessVersion}, 400, -32700},
}

func TestStatelessRequests(t *testing.T) {
	for _, c := range statelessRequests {
		for name, o := range map[string]Options{
			"dual era": {ChangeFeatures: addWeighTool},
			"one era":  {ChangeFeatures: addWeighTool, Revisions: spec.Stateless},
			"streams":  {ChangeFeatures: addWeighTool, HTTP: HTTP{PreferSSE: true}},
		} {
			if c.name == "an unsupported version in the header alone" && name == "one era" {
				continue // the server takes it for a stateless request without _meta
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
					t.Errorf("the answer has another id: %s", r.body)
				}
				if _, assigned := r.header["Mcp-Session-Id"]; assigned {
					t.Error("the server assigned a session id")
				}
				if stream := r.events != nil; stream != (o.HTTP.PreferSSE && c.status == 200) {
					t.Errorf("the answer is a stream: %v, with the headers %v", stream, r.header)
				}
				for _, e := range r.events {
					if e.id != "" {
						t.Errorf("a stream that cannot be resumed has an event id: %v", e)
					}
				}
			})
		}
	}
}

func TestWithoutSessionsAllowsOnlyPOST(t *testing.T) {
	for name, o := range map[string]Options{
		"stateless revisions":        {Revisions: spec.Stateless},
		"handshake without sessions": {HTTP: HTTP{Sessionless: true}},
	} {
		b := startHTTP(t, o)
		for _, method := range []string{"GET", "DELETE", "PUT"} {
			r := b.wantStatus(b.send(method, pathMCP, ""), 405)
			if r.header.Get("Allow") != "POST" {
				t.Errorf("%s: the answer to %s has Allow %q", name, method, r.header.Get("Allow"))
			}
		}
		// A client that opens with initialize gets the versions of the server.
		if o.Revisions != 0 {
			r := b.wantStatus(b.send("POST", pathMCP, fmt.Sprintf(initializeFormat, "2025-11-25", "{}")), 400)
			if !strings.Contains(r.body, "2026-07-28") {
				t.Errorf("%s: the answer to initialize is %s", name, r.body)
			}
		}
	}
}

// Requests of different clients may have the same id.
func TestStatelessRequestsShareIDs(t *testing.T) {
	b := startHTTP(t, Options{})
	body, headers := statelessRequest(1, "tools/call", `"name":"stocktake","arguments":{"duration_ms":100,"steps":1}`)
	done := make(chan httpResponse, 5)
	for range 5 {
		go func() { done <- b.send("POST", pathMCP, body, append(slices.Clip(headers), "Mcp-Name: stocktake")...) }()
	}
	for range 5 {
		if r := b.wantStatus(<-done, 200); r.lastMessage().Get("result.content").String() == "" {
			t.Errorf("the answer is %s", r.body)
		}
	}
}

func TestSubscriptionIsStream(t *testing.T) {
	b := startHTTP(t, Options{HTTP: HTTP{KeepAlive: 1e6}})
	body, headers := statelessRequest(1, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
	l := b.openStream("POST", pathMCP, body, headers...)
	if l.header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("the headers lack X-Accel-Buffering: %v", l.header)
	}
	if m := l.nextMessage(); m.Get("method").String() != "notifications/subscriptions/acknowledged" {
		t.Fatalf("the first message is %s", m)
	}
	call, on := statelessRequest(1, "tools/call", `"name":"set_reading_room","arguments":{"open":true}`)
	r := b.wantStatus(b.send("POST", pathMCP, call, append(on, "Mcp-Name: set_reading_room")...), 200)
	if r.events != nil {
		t.Errorf("the answer to the call is a stream of %v", r.events)
	}
	if m := l.nextMessage(); m.Get("method").String() != "notifications/tools/list_changed" {
		t.Errorf("the next message is %s", m)
	}
	go b.server.handler.Close()
	if m := l.nextMessage(); !m.Get("result").Exists() || m.Get("id").Int() != 1 {
		t.Errorf("the last message is %s", m)
	}
	if more := l.readRest(); len(more) > 0 {
		t.Errorf("after the result the stream carried %v", more)
	}
}
