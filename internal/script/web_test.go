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

// caller is a client that makes requests of HTTP one by one.
type caller struct {
	t   *testing.T
	url string
}

// call makes a request and returns the status, the header and the body.
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

// playAt has a client of the test's own play against a server, and returns what was
// said in each session.
func playAt(t *testing.T, s Server, kind transport.Kind, play func(c caller)) []*wire.Transcript {
	t.Helper()
	p, err := Perform(t.Context(), InProcessURL{Name: "client", Kind: kind, Run: func(_ context.Context, url string) error {
		play(caller{t, url})
		return nil
	}}, s, options())
	if err != nil {
		t.Fatal(err)
	}
	return p.Transcripts
}

const (
	opens = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	lists = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	calls = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`
)

func meta(id int, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id, method)
}

// A server of the handshake era has sessions: it names one, ends one, and knows no
// other.
func TestAScriptedServerHasSessionsOverHTTP(t *testing.T) {
	all := playAt(t, Plain(spec.V2025_11_25), transport.HTTP, func(c caller) {
		for _, early := range []string{lists, meta(7, "server/discover")} {
			if status, _, body := c.call("POST", early); status != http.StatusBadRequest || wire.Parse([]byte(body)).IsResponse() {
				t.Errorf("before initialize: %d %q", status, body)
			}
		}
		if status, _, _ := c.call("GET", ""); status != http.StatusMethodNotAllowed {
			t.Errorf("GET without a session: %d", status)
		}
		status, header, body := c.call("POST", opens, "X-Client", "walrus")
		id := header.Get("Mcp-Session-Id")
		if status != http.StatusOK || id == "" || header.Get("Content-Type") != "application/json" || wire.Parse([]byte(body)).Kind != wire.Result {
			t.Errorf("initialize: %d %v %q", status, header, body)
		}
		stream := c.open("GET", c.url, "", "Mcp-Session-Id", id)
		defer stream.Body.Close()
		if status, _, body := c.call("POST", ready, "Mcp-Session-Id", id); status != http.StatusAccepted || body != "" {
			t.Errorf("a notification: %d %q", status, body)
		}
		events := bufio.NewScanner(stream.Body)
		for want := range slices.Values([]string{"notifications/message", UnknownNotice, PingID, UnknownMethod}) {
			for events.Scan() && events.Text() == "" {
			}
			if !strings.HasPrefix(events.Text(), "data: {") || !strings.Contains(events.Text(), want) {
				t.Errorf("on the stream came %q, not %s", events.Text(), want)
			}
		}
		for _, answer := range []string{`{"jsonrpc":"2.0","id":"` + PingID + `","result":{}}`, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"x"}}`, UnknownID)} {
			if status, _, _ := c.call("POST", answer, "Mcp-Session-Id", id); status != http.StatusAccepted {
				t.Errorf("an answer: %d", status)
			}
		}
		if status, header, body := c.call("POST", calls, "Mcp-Session-Id", id); status != http.StatusOK || header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(body, "data: {") || !strings.HasSuffix(body, "\n\n") {
			t.Errorf("a call: %d %v %q", status, header, body)
		}
		for want, name := range map[int]string{http.StatusNotFound: "nobody", http.StatusOK: id} {
			if status, _, _ := c.call("DELETE", "", "Mcp-Session-Id", name); status != want {
				t.Errorf("DELETE of %s: %d", name, status)
			}
		}
		if status, _, _ := c.call("POST", lists, "Mcp-Session-Id", id); status != http.StatusNotFound {
			t.Errorf("after DELETE: %d", status)
		}
	})
	if len(all) != 1 {
		t.Fatalf("%d sessions", len(all))
	}
	if end := all[0].Ending(); end == nil || end.Asked || !end.Graceful || !strings.Contains(end.What, "DELETE") {
		t.Errorf("ending %+v", end)
	}
	conns, methods, statuses := map[string]bool{}, map[string]int{}, map[int]int{}
	for _, f := range all[0].Frames(0) {
		if f.HTTP == nil || f.HTTP.Exchange == 0 {
			t.Fatalf("a frame without HTTP: %s", f.Raw)
		}
		if f.From == wire.Client && f.HTTP.End == "" {
			conns[f.HTTP.Conn] = true
			methods[f.HTTP.Method]++
		}
		statuses[f.HTTP.Status]++
		if strings.Contains(string(f.Raw), `"initialize"`) && !slices.Equal(f.HTTP.Header["X-Client"], []string{"walrus"}) {
			t.Errorf("the header fields of initialize are %v", f.HTTP.Header)
		}
	}
	if conns[""] || methods["POST"] != 7 || methods["GET"] != 2 || methods["DELETE"] != 1 || statuses[http.StatusBadRequest] != 2 {
		t.Errorf("connections %v, methods %v, statuses %v", conns, methods, statuses)
	}
}

// What a server has to say of itself goes with its next answer where the client
// listens to nothing.
func TestWhatTheServerSaysOfItselfReachesWhoDoesNotListen(t *testing.T) {
	playAt(t, Plain(spec.V2025_06_18), transport.HTTP, func(c caller) {
		_, header, _ := c.call("POST", opens)
		id := header.Get("Mcp-Session-Id")
		c.call("POST", ready, "Mcp-Session-Id", id)
		answer := c.open("POST", c.url, lists, "Mcp-Session-Id", id)
		defer answer.Body.Close()
		var came []string
		for events := bufio.NewScanner(answer.Body); events.Scan(); {
			data, ok := strings.CutPrefix(events.Text(), "data: ")
			if !ok {
				continue
			}
			m := wire.Parse([]byte(data))
			came = append(came, m.Kind.String())
			if m.Kind == wire.Request {
				c.call("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID().Raw), "Mcp-Session-Id", id)
			}
		}
		if got := strings.Join(came, " "); got != "notification notification request request result" {
			t.Errorf("on the stream of tools/list came %q", got)
		}
	})
}

// Requests of the stateless era belong to no session, whatever else the client
// does; what it opens beside them is one of its own.
func TestAScriptedServerServesBothErasAtOnce(t *testing.T) {
	all := playAt(t, Plain(spec.V2026_07_28), transport.HTTP, func(c caller) {
		if status, header, body := c.call("POST", meta(1, "server/discover")); status != http.StatusOK || header.Get("Mcp-Session-Id") != "" || !strings.Contains(body, "supportedVersions") {
			t.Errorf("server/discover: %d %q", status, body)
		}
		if status, _, _ := c.call("POST", meta(2, "no/such")); status != http.StatusNotFound {
			t.Errorf("an unknown method: %d", status)
		}
		_, header, _ := c.call("POST", opens)
		_, again, _ := c.call("POST", opens)
		id := header.Get("Mcp-Session-Id")
		if id == "" || again.Get("Mcp-Session-Id") == id {
			t.Errorf("two initializes opened %q and %q", id, again.Get("Mcp-Session-Id"))
		}
		if _, _, body := c.call("POST", lists, "Mcp-Session-Id", id); strings.Contains(body, "resultType") {
			t.Errorf("in the session: %q", body)
		}
		if _, _, body := c.call("POST", meta(4, "tools/list")); !strings.Contains(body, "resultType") {
			t.Errorf("beside the session: %q", body)
		}
		if status, _, body := c.call("POST", "no JSON"); status != http.StatusBadRequest {
			t.Errorf("no JSON: %d %q", status, body)
		}
	})
	if len(all) != 2 {
		t.Errorf("%d transcripts, not that of the first session and that of the second", len(all))
	}
}

func TestAScriptedServerSpeaksHTTPWithSSE(t *testing.T) {
	all := playAt(t, Plain(spec.V2024_11_05), transport.SSE, func(c caller) {
		if status, _, _ := c.call("POST", opens); status != http.StatusMethodNotAllowed {
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
		answer := c.open("POST", to, opens)
		answer.Body.Close()
		if answer.StatusCode != http.StatusAccepted {
			t.Errorf("POST: %d", answer.StatusCode)
		}
		if e := next(); !strings.HasPrefix(e, `event: message|data: {"jsonrpc":"2.0","id":1,"result"`) {
			t.Errorf("the answer is %q", e)
		}
		stream.Body.Close()
	})
	if end := all[0].Ending(); len(all) != 1 || end == nil || end.Asked {
		t.Errorf("%d sessions, ending %+v", len(all), end)
	}
}

func TestTheURLOfTheServerIsPutIn(t *testing.T) {
	const url = "http://127.0.0.1:7/mcp"
	for _, c := range []struct {
		argv, want []string
		err        string
	}{
		{[]string{"c"}, []string{"c", url}, ""},
		{[]string{"c", "{url}", "x"}, []string{"c", url, "x"}, ""},
		{[]string{"c", "--to={url}"}, []string{"c", "--to=" + url}, ""},
		{[]string{"c", "{server}"}, nil, "{url}"},
	} {
		got, err := ExpandURL(c.argv, url)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || !slices.Equal(got, c.want) {
			t.Errorf("%q became %q, %v", c.argv, got, err)
		}
	}
}
