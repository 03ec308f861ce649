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
	if versionHeaderRevisions.Has(rev) {
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
