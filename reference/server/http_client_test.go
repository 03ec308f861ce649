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

// An httpClient is an HTTP client of a server that listens.
type httpClient struct {
	t      *testing.T
	server *Listener
	client *http.Client
}

// startHTTP starts a server on a port of its own.
func startHTTP(t *testing.T, o Options) *httpClient {
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
	return &httpClient{t, l, &http.Client{Transport: transport}}
}

// An httpResponse is an HTTP response that was read to its end.
type httpResponse struct {
	status int
	header http.Header
	body   string
	events []event // of a stream
}

// An event is one event that a client reads.
type event struct{ id, name, data, retry string }

const acceptBoth = "application/json, text/event-stream"

// do sends a request and returns the response before its body is read. Headers are
// "Name: value"; one without a value is not sent.
func (b *httpClient) do(ctx context.Context, method, path, body string, headers ...string) *http.Response {
	b.t.Helper()
	res, err := b.client.Do(b.newRequest(ctx, method, path, body, headers...))
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res
}

// postAndLeave posts a message and closes the connection when the context ends.
func (b *httpClient) postAndLeave(ctx context.Context, body string, headers ...string) error {
	res, err := b.client.Do(b.newRequest(ctx, "POST", pathMCP, body, headers...))
	if err == nil {
		res.Body.Close()
	}
	return err
}

func (b *httpClient) newRequest(ctx context.Context, method, path, body string, headers ...string) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+b.server.addr.String()+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", acceptBoth)
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
func (b *httpClient) send(method, path, body string, headers ...string) httpResponse {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), testTimeout)
	defer cancel()
	res := b.do(ctx, method, path, body, headers...)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatalf("read the answer to %s %s: %v", method, path, err)
	}
	r := httpResponse{status: res.StatusCode, header: res.Header, body: string(raw)}
	if res.Header.Get("Content-Type") == "text/event-stream" {
		events := readEvents(bytes.NewReader(raw))
		for e := range events {
			r.events = append(r.events, e)
		}
	}
	return r
}

// readEvents reads the events of a stream to its end.
func readEvents(r io.Reader) <-chan event {
	out := make(chan event, 1000)
	go func() {
		defer close(out)
		var e event
		data, hasField := []string{}, false
		for lines := bufio.NewScanner(r); lines.Scan(); {
			line := lines.Text()
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case line == "" && hasField:
				e.data = strings.Join(data, "\n")
				out <- e
				e, data, hasField = event{}, []string{}, false
			case line == "" || name == "": // no field precedes it, or a comment
			default:
				hasField = true
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

// An httpTestSession is a session of a handshake revision.
type httpTestSession struct {
	*httpClient
	revision spec.Revision
	id       string
	headers  []string
}

// openSession opens a session.
func (b *httpClient) openSession(rev spec.Revision, capabilities string) *httpTestSession {
	b.t.Helper()
	r := b.send("POST", pathMCP, fmt.Sprintf(initializeFormat, rev, capabilities))
	if got := r.lastMessage().Get("result.protocolVersion").String(); r.status != 200 || got != string(rev) {
		b.t.Fatalf("initialize at %s: %d %s", rev, r.status, r.body)
	}
	s := &httpTestSession{httpClient: b, revision: rev, id: r.header.Get("Mcp-Session-Id")}
	if s.id != "" {
		s.headers = append(s.headers, "Mcp-Session-Id: "+s.id)
	}
	if versionHeaderRevisions.Has(rev) {
		s.headers = append(s.headers, "MCP-Protocol-Version: "+string(rev))
	}
	s.wantStatus(s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), 202)
	return s
}

func (s *httpTestSession) post(body string, headers ...string) httpResponse {
	s.t.Helper()
	return s.send("POST", pathMCP, body, slices.Concat(s.headers, headers)...)
}

// toolCallLine returns a tool call with a progress token.
func toolCallLine(id, tool, arguments string) string {
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":`+
			`{"progressToken":%q}}}`,
		id, tool, arguments, id,
	)
}

// A liveStream is a response that is read while it is sent.
type liveStream struct {
	t      *testing.T
	header http.Header
	status int
	events <-chan event
	cancel context.CancelFunc
}

// openStream sends a request whose response is read while it is sent.
func (b *httpClient) openStream(method, path, body string, headers ...string) *liveStream {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	res := b.do(ctx, method, path, body, headers...)
	if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "text/event-stream" {
		raw, _ := io.ReadAll(res.Body)
		cancel()
		b.t.Fatalf("%s %s opened no stream: %d %s %s", method, path, res.StatusCode, got, raw)
	}
	events := readEvents(res.Body)
	l := &liveStream{b.t, res.Header, res.StatusCode, events, func() { cancel(); res.Body.Close() }}
	b.t.Cleanup(l.cancel)
	return l
}

func (s *httpTestSession) openGetStream(headers ...string) *liveStream {
	s.t.Helper()
	return s.openStream("GET", pathMCP, "", slices.Concat(s.headers, headers)...)
}

// nextEvent returns the next event; ok is false at the end of the stream.
func (l *liveStream) nextEvent() (e event, ok bool) {
	l.t.Helper()
	select {
	case e, ok = <-l.events:
		return e, ok
	case <-time.After(testTimeout):
		l.t.Fatal("the stream carried no event in time")
	}
	return
}

// nextMessage returns the next message.
func (l *liveStream) nextMessage() gjson.Result {
	l.t.Helper()
	for {
		e, ok := l.nextEvent()
		if !ok {
			l.t.Fatal("the stream ended without a message")
		}
		if e.data != "" {
			return gjson.Parse(e.data)
		}
	}
}

// readRest reads the stream to its end.
func (l *liveStream) readRest() (out []event) {
	l.t.Helper()
	for {
		e, ok := l.nextEvent()
		if !ok {
			return out
		}
		out = append(out, e)
	}
}

// lastMessage returns the last message of a response.
func (r httpResponse) lastMessage() gjson.Result {
	if r.events == nil {
		return gjson.Parse(r.body)
	}
	return gjson.Parse(r.events[len(r.events)-1].data)
}

// messages returns the messages of a stream.
func (r httpResponse) messages() (out []gjson.Result) {
	for _, e := range r.events {
		if e.data != "" {
			out = append(out, gjson.Parse(e.data))
		}
	}
	return out
}

// wantStatus checks the status of a response and returns it.
func (b *httpClient) wantStatus(r httpResponse, status int) httpResponse {
	b.t.Helper()
	if r.status != status {
		b.t.Errorf("status %d, want %d: %s", r.status, status, r.body)
	}
	if status == 202 && (r.body != "" || r.header.Get("Content-Type") != "") {
		b.t.Errorf("202 has a body of type %q: %s", r.header.Get("Content-Type"), r.body)
	}
	return r
}

// openGetStreams returns the number of connected GET streams of the session.
func (s *httpTestSession) openGetStreams() int {
	session := s.server.handler.findSession(s.id)
	session.mu.Lock()
	defer session.mu.Unlock()
	return len(session.getStreams)
}

// inFlight returns the number of requests of the session that are in flight.
func (s *httpTestSession) inFlight() int {
	c := s.server.handler.findSession(s.id).conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.inflight)
}

// waitUntil waits until a condition holds.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(testTimeout); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", testTimeout, what)
		}
	}
}
