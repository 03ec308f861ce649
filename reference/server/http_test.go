package server

import (
	"bufio"
	"bytes"
	"context"

	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A browser is an HTTP client of the tests.
type browser struct {
	t      *testing.T
	server *Listener
	client *http.Client
}

// listening starts a server on a port of its own.
func listening(t *testing.T, o Options) *browser {
	t.Helper()
	l, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &browser{t, l, &http.Client{Transport: transport}}
}

// A reply is an HTTP response that has been read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	events []event // of a stream
}

// An event is one event that a client reads.
type event struct{ id, name, data, retry string }

const both = "application/json, text/event-stream"

// do sends a request and returns the response before its body was read.
// Headers are "Name: value"; one without a value is left out.
func (b *browser) do(ctx context.Context, method, path, body string, headers ...string) *http.Response {
	b.t.Helper()
	res, err := b.client.Do(b.request(ctx, method, path, body, headers...))
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res
}

// leave posts a message and gives up when the context ends.
func (b *browser) leave(ctx context.Context, body string, headers ...string) error {
	res, err := b.client.Do(b.request(ctx, "POST", pathMCP, body, headers...))
	if err == nil {
		res.Body.Close()
	}
	return err
}

func (b *browser) request(ctx context.Context, method, path, body string, headers ...string) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+b.server.addr.String()+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", both)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		value = strings.TrimSpace(value)
		switch {
		case value == "":
			r.Header.Del(name)
		case name == "Host":
			r.Host = value
		default:
			r.Header.Set(name, value)
		}
	}
	return r
}

// send sends a request and reads the response to its end.
func (b *browser) send(method, path, body string, headers ...string) reply {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	res := b.do(ctx, method, path, body, headers...)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatalf("read the answer to %s %s: %v", method, path, err)
	}
	r := reply{status: res.StatusCode, header: res.Header, body: string(raw)}
	if res.Header.Get("Content-Type") == "text/event-stream" {
		events := readEvents(bytes.NewReader(raw))
		for e := range events {
			r.events = append(r.events, e)
		}
	}
	return r
}

// readEvents reads the events of a stream until its end; it ends by itself.
func readEvents(r io.Reader) <-chan event {
	out := make(chan event, 1000)
	go func() {
		defer close(out)
		var e event
		data, some := []string{}, false
		for lines := bufio.NewScanner(r); lines.Scan(); {
			line := lines.Text()
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case line == "" && some:
				e.data = strings.Join(data, "\n")
				out <- e
				e, data, some = event{}, []string{}, false
			case line == "" || name == "": // the end of nothing, or a comment
			default:
				some = true
				switch name {
				case "id":
					e.id = value
				case "event":
					e.name = value
				case "retry":
					e.retry = value
				case "data":
					data = append(data, value)
				}
			}
		}
	}()
	return out
}

// A session is a session of a handshake revision, or what stands for one in a
// stateless revision.
type session struct {
	*browser
	rev     spec.Revision
	id      string
	headers []string
}

const initializing = `{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}}}`

// session opens a session.
func (b *browser) session(rev spec.Revision, capabilities string) *session {
	b.t.Helper()
	r := b.send("POST", pathMCP, fmt.Sprintf(initializing, rev, capabilities))
	if got := r.message().Get("result.protocolVersion").String(); r.status != 200 || got != string(rev) {
		b.t.Fatalf("initialize at %s: %d %s", rev, r.status, r.body)
	}
	s := &session{browser: b, rev: rev, id: r.header.Get("Mcp-Session-Id")}
	if s.id != "" {
		s.headers = append(s.headers, "Mcp-Session-Id: "+s.id)
	}
	if versioned.Has(rev) {
		s.headers = append(s.headers, "MCP-Protocol-Version: "+string(rev))
	}
	s.want(s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), 202)
	return s
}

func (s *session) post(body string, headers ...string) reply {
	s.t.Helper()
	return s.send("POST", pathMCP, body, slices.Concat(s.headers, headers)...)
}

// toolCall calls a tool.
func toolCall(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":%q}}}`, id, tool, arguments, id)
}

// A live stream is one that is read as it comes.
type live struct {
	t      *testing.T
	header http.Header
	status int
	events <-chan event
	cancel context.CancelFunc
}

// open sends a request whose answer is read as it comes.
func (b *browser) open(method, path, body string, headers ...string) *live {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	res := b.do(ctx, method, path, body, headers...)
	if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "text/event-stream" {
		raw, _ := io.ReadAll(res.Body)
		cancel()
		b.t.Fatalf("%s %s opened no stream: %d %s %s", method, path, res.StatusCode, got, raw)
	}
	events := readEvents(res.Body)
	l := &live{b.t, res.Header, res.StatusCode, events, func() { cancel(); res.Body.Close() }}
	b.t.Cleanup(l.cancel)
	return l
}

func (s *session) listen(headers ...string) *live {
	s.t.Helper()
	return s.open("GET", pathMCP, "", slices.Concat(s.headers, headers)...)
}

// next returns the next event; ok is false at the end of the stream.
func (l *live) next() (e event, ok bool) {
	l.t.Helper()
	select {
	case e, ok = <-l.events:
		return e, ok
	case <-time.After(patience):
		l.t.Fatal("nothing comes on the stream")
	}
	return
}

// message returns the next event that is one.
func (l *live) message() gjson.Result {
	l.t.Helper()
	for {
		e, ok := l.next()
		if !ok {
			l.t.Fatal("the stream has ended")
		}
		if e.data != "" {
			return gjson.Parse(e.data)
		}
	}
}

// rest reads the stream to its end.
func (l *live) rest() (out []event) {
	l.t.Helper()
	for {
		e, ok := l.next()
		if !ok {
			return out
		}
		out = append(out, e)
	}
}

// message is the last message of a reply.
func (r reply) message() gjson.Result {
	if r.events == nil {
		return gjson.Parse(r.body)
	}
	return gjson.Parse(r.events[len(r.events)-1].data)
}

// messages are all of them.
func (r reply) messages() (out []gjson.Result) {
	for _, e := range r.events {
		if e.data != "" {
			out = append(out, gjson.Parse(e.data))
		}
	}
	return out
}

func (b *browser) want(r reply, status int) reply {
	b.t.Helper()
	if r.status != status {
		b.t.Errorf("status %d, want %d: %s", r.status, status, r.body)
	}
	if status == 202 && (r.body != "" || r.header.Get("Content-Type") != "") {
		b.t.Errorf("202 comes with %q %s", r.header.Get("Content-Type"), r.body)
	}
	return r
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// Streamable HTTP begins with 2025-03-26.
var sessions = streamable & spec.Handshake

func TestASessionIsMintedKeptAndEnded(t *testing.T) {
	eachRevision(t, sessions, func(t *testing.T, rev spec.Revision) {
		b := listening(t, Options{})
		ids := map[string]bool{}
		for range 5 {
			s := b.session(rev, "{}")
			if len(s.id) < 22 || ids[s.id] || strings.ContainsFunc(s.id, func(c rune) bool { return c < 0x21 || c > 0x7e }) {
				t.Errorf("the session id is %q", s.id)
			}
			ids[s.id] = true
			b.want(s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), 200)
			b.want(s.send("DELETE", pathMCP, "", s.headers...), 204)
			b.want(s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), 404)
			b.want(s.send("GET", pathMCP, "", s.headers...), 404)
			b.want(s.send("DELETE", pathMCP, "", s.headers...), 404)
		}
	})
}

func TestARefusedInitializeOpensNoSession(t *testing.T) {
	b := listening(t, Options{})
	r := b.want(b.send("POST", pathMCP, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`), 200)
	if r.header.Get("Mcp-Session-Id") != "" || r.message().Get("error.code").Int() != spec.InvalidParams {
		t.Errorf("got %v %s", r.header, r.body)
	}
	eventually(t, "the session is gone", func() bool {
		b.server.web.mu.Lock()
		defer b.server.web.mu.Unlock()
		return len(b.server.web.sessions) == 0
	})
}

func TestTheRevisionsOfEachEndpoint(t *testing.T) {
	b := listening(t, Options{})
	for asked, want := range map[string]spec.Revision{
		"2024-11-05": spec.V2025_11_25, "2025-03-26": spec.V2025_03_26, "2025-06-18": spec.V2025_06_18,
		"2025-11-25": spec.V2025_11_25, "2026-07-28": spec.V2025_11_25, "1999-01-01": spec.V2025_11_25,
	} {
		r := b.send("POST", pathMCP, fmt.Sprintf(initializing, asked, "{}"))
		if got := r.message().Get("result.protocolVersion").String(); got != string(want) {
			t.Errorf("asked for %s the server offers %s, want %s", asked, got, want)
		}
	}
	if _, err := Listen("0.0.0.0:0", Options{}); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("it listens everywhere: %v", err)
	}
}

// Statuses of POST, GET and DELETE in a session.
func TestStatusesInASession(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	const batch = `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`
	since := versioned & spec.Handshake
	for _, c := range []struct {
		name, method, body string
		headers            []string
		in                 spec.Set // zero: all
		status             int
		code               int64 // of the error in the body, 0 for none
	}{
		{"a request", "POST", ping, nil, 0, 200, 0},
		{"an error of a request", "POST", `{"jsonrpc":"2.0","id":7,"method":"x/y"}`, nil, 0, 200, -32601},
		{"a notification", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 0, 202, 0},
		{"an unknown notification", "POST", `{"jsonrpc":"2.0","method":"notifications/x"}`, nil, 0, 202, 0},
		{"a malformed notification", "POST", `{"jsonrpc":"2.0","method":"notifications/x","params":7}`, nil, 0, 400, -32600},
		{"a response to nothing", "POST", `{"jsonrpc":"2.0","id":"nobody","result":{}}`, nil, 0, 202, 0},
		{"a malformed response", "POST", `{"jsonrpc":"2.0","result":{}}`, nil, 0, 400, -32600},
		{"no JSON", "POST", `{"jsonrpc":`, nil, 0, 400, -32700},
		{"an empty body", "POST", " ", nil, 0, 400, -32700},
		{"no message", "POST", `{"jsonrpc":"2.0","id":7}`, nil, 0, 400, -32600},
		{"a batch", "POST", batch, nil, batching(), 200, 0},
		{"a batch of notifications", "POST", `[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"nobody","result":{}}]`, nil, batching(), 202, 0},
		{"an empty batch", "POST", `[]`, nil, batching(), 400, -32600},
		{"a batch where there is none", "POST", batch, nil, since, 400, -32600},
		{"a second initialize", "POST", fmt.Sprintf(initializing, "2025-11-25", "{}"), nil, 0, 200, -32600},
		{"no session id", "POST", ping, []string{"Mcp-Session-Id:"}, 0, 400, -32600},
		{"a foreign session id", "POST", ping, []string{"Mcp-Session-Id: nobody"}, 0, 404, -32600},
		{"no version", "POST", ping, []string{"MCP-Protocol-Version:"}, 0, 200, 0},
		{"another version that is spoken", "POST", ping, []string{"MCP-Protocol-Version: 2025-06-18"}, 0, 200, 0},
		{"an unknown version", "POST", ping, []string{"MCP-Protocol-Version: 1999-01-01"}, since, 400, -32600},
		{"garbage for a version", "POST", ping, []string{"MCP-Protocol-Version: garbage"}, since, 400, -32600},
		{"a header that the revision does not know", "POST", ping, []string{"MCP-Protocol-Version: garbage"}, batching(), 200, 0},
		{"not JSON by its type", "POST", ping, []string{"Content-Type: text/plain"}, 0, 415, -32600},
		{"no type", "POST", ping, []string{"Content-Type:"}, 0, 415, -32600},
		{"not UTF-8", "POST", ping, []string{"Content-Type: application/json; charset=latin1"}, 0, 415, -32600},
		{"UTF-8", "POST", ping, []string{"Content-Type: application/json; charset=UTF-8"}, 0, 200, 0},
		{"accepts JSON alone", "POST", ping, []string{"Accept: application/json"}, 0, 406, -32600},
		{"accepts streams alone", "POST", ping, []string{"Accept: text/event-stream"}, 0, 406, -32600},
		{"refuses streams", "POST", ping, []string{"Accept: */*, text/event-stream;q=0"}, 0, 406, -32600},
		{"accepts anything", "POST", ping, []string{"Accept: */*"}, 0, 200, 0},
		{"accepts by kinds", "POST", ping, []string{"Accept: application/*;q=0.5, text/*"}, 0, 200, 0},
		{"a GET that accepts no stream", "GET", "", []string{"Accept: application/json"}, 0, 406, -32600},
		{"a GET without session", "GET", "", []string{"Mcp-Session-Id:"}, 0, 400, -32600},
		{"a GET with an unknown version", "GET", "", []string{"MCP-Protocol-Version: 1"}, since, 400, -32600},
		{"a GET of a stateless revision", "GET", "", []string{"MCP-Protocol-Version: 2026-07-28"}, 0, 405, -32600},
		{"a DELETE without session", "DELETE", "", []string{"Mcp-Session-Id:"}, 0, 400, -32600},
		{"a DELETE of another session", "DELETE", "", []string{"Mcp-Session-Id: nobody"}, 0, 404, -32600},
		{"a DELETE of a stateless revision", "DELETE", "", []string{"MCP-Protocol-Version: 2026-07-28"}, 0, 405, -32600},
		{"a PUT", "PUT", ping, nil, 0, 405, -32600},
		{"OPTIONS", "OPTIONS", "", nil, 0, 405, -32600},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.in == 0 {
				c.in = sessions
			}
			b := listening(t, Options{})
			for _, rev := range c.in.Revisions() {
				s := b.session(rev, "{}")
				r := b.want(b.send(c.method, pathMCP, c.body, slices.Concat(s.headers, c.headers)...), c.status)
				if got := r.message().Get("error.code").Int(); got != c.code {
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

// batching is the set of revisions that have batches.
func batching() (out spec.Set) {
	for _, v := range spec.Revisions() {
		if v.Facts().Batches {
			out |= spec.Only(v)
		}
	}
	return out
}
