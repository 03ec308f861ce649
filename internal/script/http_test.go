package script

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A caller is a client that sends single HTTP requests.
type caller struct {
	t   *testing.T
	url string
}

// call sends a request and returns the status, the header and the body.
func (c caller) call(method, body string, header ...string) (int, http.Header, string) {
	c.t.Helper()
	answer := c.open(method, c.url, body, header...)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Error(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

// open sends a request and returns the answer.
func (c caller) open(method, url, body string, header ...string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer
}

// runHTTP runs a client over HTTP against a server and returns the transcript of each
// session.
func runHTTP(t *testing.T, s Server, kind transport.Kind, run func(c caller)) []*wire.Transcript {
	t.Helper()
	client := HTTPFunc{Name: "client", Kind: kind, Run: func(_ context.Context, url string) error {
		run(caller{t, url})
		return nil
	}}
	p, err := RunClient(t.Context(), client, s, options())
	if err != nil {
		t.Fatal(err)
	}
	return p.Transcripts
}

const (
	initializeRequest = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	initializedNotification = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listRequest             = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	callRequest             = `{"jsonrpc":"2.0","id":3,"method":"tools/call",` +
		`"params":{"name":"echo","arguments":{"text":"x"}}}`
)

// statelessRequest returns a request of 2026-07-28.
func statelessRequest(id int, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		id, method)
}

// A server with a handshake opens and ends sessions over HTTP, and refuses unknown
// ones.
func TestSessionsOverHTTP(t *testing.T) {
	all := runHTTP(t, FullServer(spec.V2025_11_25), transport.HTTP, func(c caller) {
		for _, early := range []string{listRequest, statelessRequest(7, "server/discover")} {
			status, _, body := c.call("POST", early)
			if status != http.StatusBadRequest || wire.Parse([]byte(body)).IsResponse() {
				t.Errorf("before initialize: %d %q", status, body)
			}
		}
		if status, _, _ := c.call("GET", ""); status != http.StatusMethodNotAllowed {
			t.Errorf("GET without a session: %d", status)
		}
		status, header, body := c.call("POST", initializeRequest, "X-Client", "walrus")
		id := header.Get("Mcp-Session-Id")
		isJSON := header.Get("Content-Type") == "application/json"
		if status != http.StatusOK || id == "" || !isJSON || wire.Parse([]byte(body)).Kind != wire.Result {
			t.Errorf("initialize: %d %v %q", status, header, body)
		}
		answerUnsolicited(c, id)
		status, header, body = c.call("POST", callRequest, "Mcp-Session-Id", id)
		isEvent := strings.HasPrefix(body, "data: {") && strings.HasSuffix(body, "\n\n")
		if status != http.StatusOK || header.Get("Content-Type") != "text/event-stream" || !isEvent {
			t.Errorf("a call: %d %v %q", status, header, body)
		}
		for want, name := range map[int]string{http.StatusNotFound: "unknown", http.StatusOK: id} {
			if status, _, _ := c.call("DELETE", "", "Mcp-Session-Id", name); status != want {
				t.Errorf("DELETE of %s: %d", name, status)
			}
		}
		if status, _, _ := c.call("POST", listRequest, "Mcp-Session-Id", id); status != http.StatusNotFound {
			t.Errorf("after DELETE: %d", status)
		}
	})
	if len(all) != 1 {
		t.Fatalf("%d sessions", len(all))
	}
	if end := all[0].Ending(); end == nil || end.Requested || !end.Graceful || !strings.Contains(end.Reason, "DELETE") {
		t.Errorf("ending %+v", end)
	}
	checkExchanges(t, all[0])
}

// answerUnsolicited initializes a session and answers the requests that the server
// sends on the GET stream.
func answerUnsolicited(c caller, id string) {
	stream := c.open("GET", c.url, "", "Mcp-Session-Id", id)
	defer stream.Body.Close()
	status, _, body := c.call("POST", initializedNotification, "Mcp-Session-Id", id)
	if status != http.StatusAccepted || body != "" {
		c.t.Errorf("a notification: %d %q", status, body)
	}
	events := bufio.NewScanner(stream.Body)
	for _, want := range []string{"notifications/message", unknownNotification, pingID, unknownMethod} {
		for events.Scan() && events.Text() == "" {
		}
		if !strings.HasPrefix(events.Text(), "data: {") || !strings.Contains(events.Text(), want) {
			c.t.Errorf("the stream has %q, want %s", events.Text(), want)
		}
	}
	for _, answer := range []string{
		`{"jsonrpc":"2.0","id":"` + pingID + `","result":{}}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"x"}}`, unknownID),
	} {
		if status, _, _ := c.call("POST", answer, "Mcp-Session-Id", id); status != http.StatusAccepted {
			c.t.Errorf("an answer: %d", status)
		}
	}
}

// checkExchanges checks the recorded requests and statuses of TestSessionsOverHTTP.
func checkExchanges(t *testing.T, transcript *wire.Transcript) {
	t.Helper()
	conns, methods, statuses := map[string]bool{}, map[string]int{}, map[int]int{}
	for _, f := range transcript.Frames(0) {
		if f.HTTP == nil || f.HTTP.Exchange == 0 {
			t.Fatalf("a frame without HTTP: %s", f.Raw)
		}
		if f.From == wire.Client && f.HTTP.EndReason == "" {
			conns[f.HTTP.Conn] = true
			methods[f.HTTP.Method]++
		}
		statuses[f.HTTP.Status]++
		isInitialize := strings.Contains(string(f.Raw), `"initialize"`)
		if isInitialize && !slices.Equal(f.HTTP.Header["X-Client"], []string{"walrus"}) {
			t.Errorf("the header fields of initialize are %v", f.HTTP.Header)
		}
	}
	requests := methods["POST"] == 7 && methods["GET"] == 2 && methods["DELETE"] == 1
	if conns[""] || !requests || statuses[http.StatusBadRequest] != 2 {
		t.Errorf("connections %v, methods %v, statuses %v", conns, methods, statuses)
	}
}

// Without a GET stream, messages of the server are sent on the stream of the next
// answer.
func TestSendsMessagesOnNextAnswerWithoutGETStream(t *testing.T) {
	runHTTP(t, FullServer(spec.V2025_06_18), transport.HTTP, func(c caller) {
		_, header, _ := c.call("POST", initializeRequest)
		id := header.Get("Mcp-Session-Id")
		c.call("POST", initializedNotification, "Mcp-Session-Id", id)
		answer := c.open("POST", c.url, listRequest, "Mcp-Session-Id", id)
		defer answer.Body.Close()
		var kinds []string
		for events := bufio.NewScanner(answer.Body); events.Scan(); {
			data, ok := strings.CutPrefix(events.Text(), "data: ")
			if !ok {
				continue
			}
			m := wire.Parse([]byte(data))
			kinds = append(kinds, m.Kind.String())
			if m.Kind == wire.Request {
				c.call("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID().Raw), "Mcp-Session-Id", id)
			}
		}
		if got := strings.Join(kinds, " "); got != "notification notification request request result" {
			t.Errorf("the stream of tools/list has %q", got)
		}
	})
}

// One server answers stateless requests, which belong to no session, and requests in
// sessions.
func TestServesBothErasConcurrently(t *testing.T) {
	all := runHTTP(t, FullServer(spec.V2026_07_28), transport.HTTP, func(c caller) {
		status, header, body := c.call("POST", statelessRequest(1, "server/discover"))
		named := header.Get("Mcp-Session-Id") != ""
		if status != http.StatusOK || named || !strings.Contains(body, "supportedVersions") {
			t.Errorf("server/discover: %d %q", status, body)
		}
		if status, _, _ := c.call("POST", statelessRequest(2, "no/such")); status != http.StatusNotFound {
			t.Errorf("an unknown method: %d", status)
		}
		_, first, _ := c.call("POST", initializeRequest)
		_, second, _ := c.call("POST", initializeRequest)
		id := first.Get("Mcp-Session-Id")
		if id == "" || second.Get("Mcp-Session-Id") == id {
			t.Errorf("two initialize requests opened %q and %q", id, second.Get("Mcp-Session-Id"))
		}
		if _, _, body := c.call("POST", listRequest, "Mcp-Session-Id", id); strings.Contains(body, "resultType") {
			t.Errorf("the answer in the session: %q", body)
		}
		if _, _, body := c.call("POST", statelessRequest(4, "tools/list")); !strings.Contains(body, "resultType") {
			t.Errorf("the answer without a session: %q", body)
		}
		if status, _, body := c.call("POST", "no JSON"); status != http.StatusBadRequest {
			t.Errorf("no JSON: %d %q", status, body)
		}
	})
	if len(all) != 2 {
		t.Errorf("%d transcripts, want one for each session", len(all))
	}
}

func TestServerOverHTTPWithSSE(t *testing.T) {
	all := runHTTP(t, FullServer(spec.V2024_11_05), transport.SSE, func(c caller) {
		if status, _, _ := c.call("POST", initializeRequest); status != http.StatusMethodNotAllowed {
			t.Errorf("POST to the stream: %d", status)
		}
		stream := c.open("GET", c.url, "")
		events := bufio.NewScanner(stream.Body)
		next := func() (text string) {
			for events.Scan() && events.Text() != "" {
				text += events.Text() + "|"
			}
			return text
		}
		first := next()
		to, ok := strings.CutPrefix(first, "event: endpoint|data: ")
		if !ok {
			t.Fatalf("the first event is %q", first)
		}
		to = strings.TrimSuffix(c.url, pathSSE) + strings.TrimSuffix(to, "|")
		answer := c.open("POST", to, initializeRequest)
		answer.Body.Close()
		if answer.StatusCode != http.StatusAccepted {
			t.Errorf("POST: %d", answer.StatusCode)
		}
		if e := next(); !strings.HasPrefix(e, `event: message|data: {"jsonrpc":"2.0","id":1,"result"`) {
			t.Errorf("the answer is %q", e)
		}
		stream.Body.Close()
	})
	if end := all[0].Ending(); len(all) != 1 || end == nil || end.Requested {
		t.Errorf("%d sessions, ending %+v", len(all), end)
	}
}
