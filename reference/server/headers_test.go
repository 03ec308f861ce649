package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// The requests of the tasks extension repeat the id of their task, if the server has
// the extension (SEP-2663, routing headers).
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

// Headers that the client of net/http would not send.
func TestRawHeaders(t *testing.T) {
	const (
		accept  = "Accept: " + acceptBoth + "\r\n"
		json    = "Content-Type: application/json\r\n"
		version = "MCP-Protocol-Version: 2026-07-28\r\n"
		method  = "Mcp-Method: server/discover\r\n"
	)
	b := startHTTP(t, Options{})
	body, _ := statelessRequest(1, "server/discover")
	for _, c := range []struct {
		name, headers string
		status        int
	}{
		{
			"header names in mixed case",
			"aCCept: " + acceptBoth + "\r\ncontent-TYPE: application/json\r\n" +
				"mcp-PROTOCOL-version: 2026-07-28\r\nmcp-method: server/discover\r\n",
			200,
		},
		{
			"white space around a value",
			accept + json + "MCP-Protocol-Version:   2026-07-28  \r\nMcp-Method: \t server/discover \t\r\n",
			200,
		},
		{"a header twice", accept + json + version + method + method, 400},
		{
			"Accept on two lines",
			"Accept: application/json\r\nAccept: text/event-stream\r\n" + json + version + method, 200,
		},
	} {
		if got := sendRaw(t, b, "POST "+pathMCP, "Host: localhost\r\n"+c.headers, body); got != c.status {
			t.Errorf("%s: status %d, want %d", c.name, got, c.status)
		}
	}
}

// sendRaw writes a request to a connection and returns the status of the answer.
func sendRaw(t *testing.T, b *httpClient, line, headers, body string) int {
	t.Helper()
	c, err := net.Dial("tcp", b.server.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const format = "%s HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s"
	if _, err := fmt.Fprintf(c, format, line, len(body), headers, body); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}
