package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A recorder keeps the frames of a link and lets a test wait for one.
type recorder struct {
	mu     sync.Mutex
	frames []wire.Frame
	more   chan struct{}
}

func (r *recorder) record(f wire.Frame) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, f)
	close(r.more)
	r.more = make(chan struct{})
	return len(r.frames) - 1
}

// await returns the first frame that matches.
func (r *recorder) await(t *testing.T, match func(wire.Frame) bool) wire.Frame {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		r.mu.Lock()
		frames, more := r.frames, r.more
		r.mu.Unlock()
		for _, f := range frames {
			if match(f) {
				return f
			}
		}
		select {
		case <-more:
		case <-deadline:
			var lines []string
			for _, f := range frames {
				lines = append(lines, string(f.AppendJSON(nil)))
			}
			t.Fatalf("no such frame among\n%s", strings.Join(lines, "\n"))
		}
	}
}

func (r *recorder) answer(t *testing.T, id string) wire.Frame {
	t.Helper()
	return r.await(t, func(f wire.Frame) bool {
		m := f.Message()
		return f.From == wire.Server && m.IsResponse() && m.ID().Raw == id
	})
}

func link(t *testing.T, rev spec.Revision, h http.HandlerFunc) (*Streamable, *recorder) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	e, err := NewEndpoint(server.URL+"/mcp", HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{more: make(chan struct{})}
	s := &Streamable{Endpoint: e, Rev: rev, Record: r.record, Poll: 10 * time.Second}
	s.Open()
	t.Cleanup(func() { s.Close(t.Context()) })
	return s, r
}

func send(t *testing.T, s *Streamable, raw string) {
	t.Helper()
	if _, err := s.Send(t.Context(), []byte(raw)); err != nil {
		t.Fatal(err)
	}
}

func json(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

func sse(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, text)
	w.(http.Flusher).Flush()
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`

// A session carries its id and, from 2025-06-18 on, its version behind the
// opening; it listens once it is open and is deleted at its end.
func TestSessionsOverHTTP(t *testing.T) {
	for _, rev := range spec.Between(spec.V2025_03_26, spec.V2025_11_25).Revisions() {
		type seen struct{ method, session, version, accept string }
		var mu sync.Mutex
		var got []seen
		listening := make(chan struct{})
		s, r := link(t, rev, func(w http.ResponseWriter, q *http.Request) {
			mu.Lock()
			got = append(got, seen{q.Method, q.Header.Get("Mcp-Session-Id"), q.Header.Get("Mcp-Protocol-Version"), q.Header.Get("Accept")})
			mu.Unlock()
			body, _ := io.ReadAll(q.Body)
			switch {
			case q.Method == "GET":
				sse(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
				close(listening)
				<-q.Context().Done()
			case q.Method == "DELETE":
				w.WriteHeader(204)
			case strings.Contains(string(body), "initialized"):
				w.WriteHeader(202)
			case strings.Contains(string(body), "initialize"):
				w.Header().Set("Mcp-Session-Id", "abc")
				json(w, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			default:
				sse(w, ": hi\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
			}
		})
		send(t, s, hello)
		r.answer(t, "1")
		send(t, s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		<-listening
		send(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		f := r.answer(t, "2")
		if f.HTTP == nil || f.HTTP.Event == nil {
			t.Errorf("%s: the answer says nothing of its event: %s", rev, f.AppendJSON(nil))
		}
		r.await(t, func(f wire.Frame) bool { return f.Message().Method() == "notifications/tools/list_changed" })
		s.Close(t.Context())
		version := ""
		if rev.Facts().VersionHeader {
			version = string(rev)
		}
		both := "application/json, text/event-stream"
		want := []seen{{"POST", "", "", both}, {"POST", "abc", version, both}, {"GET", "abc", version, "text/event-stream"}, {"POST", "abc", version, both}, {"DELETE", "abc", version, ""}}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the server saw\n%v, want\n%v", rev, got, want)
		}
	}
}

// A stream that ends before the answer is taken up behind its last event,
// after the time that the server asked for.
func TestBrokenStreamsAreTakenUp(t *testing.T) {
	closed := make(chan time.Time, 1)
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.Method == "GET" && q.Header.Get("Last-Event-ID") == "e1":
			if waited := time.Since(<-closed); waited < 50*time.Millisecond {
				t.Errorf("taken up after %s", waited)
			}
			sse(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
		case q.Method == "POST":
			sse(w, "id: e1\nretry: 50\ndata:\n\n")
			closed <- time.Now()
		default:
			w.WriteHeader(405)
		}
	})
	send(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if f := r.answer(t, "2"); f.HTTP.Exchange != 2 || *f.HTTP.Event.ID != "e2" {
		t.Errorf("%s", f.AppendJSON(nil))
	}
}

// A stateless request repeats in its header what its body says.
func TestMirroredHeaders(t *testing.T) {
	var mu sync.Mutex
	got := map[string]http.Header{}
	s, r := link(t, spec.V2026_07_28, func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		m := wire.Parse(body)
		mu.Lock()
		got[m.ID().Raw] = q.Header
		mu.Unlock()
		result := `{}`
		if m.Method() == "tools/list" {
			result = `{"tools":[{"name":"t","inputSchema":{"properties":{"a":{"x-mcp-header":"Region"},"b":{"x-mcp-header":"No name"},"o":{"properties":{"n":{"x-mcp-header":"N"}}},"z":{"x-mcp-header":"Z"}}}}]}`
		}
		json(w, 200, `{"jsonrpc":"2.0","id":`+m.ID().Raw+`,"result":`+result+`}`)
	})
	for i, raw := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"Grüße","b":"x","o":{"n":42},"z":null}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"x:=?base64?y?=","_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}`,
	} {
		send(t, s, raw)
		r.answer(t, fmt.Sprint(i))
	}
	for id, want := range map[string]map[string]string{
		"0": {"Mcp-Method": "tools/list", "Mcp-Name": "", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Session-Id": ""},
		"1": {"Mcp-Method": "tools/call", "Mcp-Name": "t", "Mcp-Param-Region": "=?base64?R3LDvMOfZQ==?=", "Mcp-Param-N": "42", "Mcp-Param-Z": ""},
		"2": {"Mcp-Name": "x:=?base64?y?=", "Mcp-Protocol-Version": "1900-01-01"},
	} {
		for key, value := range want {
			if have := got[id].Get(key); have != value {
				t.Errorf("request %s: %s is %q, want %q", id, key, have, value)
			}
		}
	}

	// Another session at the endpoint need not ask for the tools again.
	other := &Streamable{Endpoint: s.Endpoint, Rev: s.Rev}
	other.Open()
	call, err := other.Posting(t.Context(), wire.Parse([]byte(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{"a":"x"}}}`)))
	if err != nil || call.Header.Get("Mcp-Param-Region") != "x" {
		t.Errorf("another session posts with %v, %v", call.Header, err)
	}
}

func TestFieldValues(t *testing.T) {
	for v, want := range map[string]string{
		"us-west1": "us-west1", "a b": "a b", "": "", " padded ": "=?base64?IHBhZGRlZCA=?=", "line1\nline2": "=?base64?bGluZTEKbGluZTI=?=",
		"Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=", "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
	} {
		if got := FieldValue(v); got != want {
			t.Errorf("%q is carried as %q, want %q", v, got, want)
		}
	}
}

// What answers a post and is no message is kept as what it is.
func TestBodiesThatAreNoMessages(t *testing.T) {
	for name, c := range map[string]struct {
		kind, body string
		status     int
		message    bool
	}{
		"an error page":                {"text/html", "<h1>no</h1>", 404, false},
		"an error of another kind":     {"application/json", `{"error":"no"}`, 401, false},
		"an error of JSON-RPC":         {"application/json", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`, 400, true},
		"broken JSON with status 200":  {"application/json; charset=utf-8", `{`, 200, true},
		"text with status 200":         {"text/plain", `{}`, 200, false},
		"nothing, of no declared type": {"", ``, 202, false},
	} {
		s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		send(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		f := r.await(t, func(f wire.Frame) bool { return f.From == wire.Server })
		if f.HTTP.Status != c.status || c.message && string(f.Raw) != c.body || !c.message && (f.Raw != nil || f.HTTP.Body != c.body) {
			t.Errorf("%s is kept as %s", name, f.AppendJSON(nil))
		}
	}
}

// Closing the stream of a request is seen by the server, and a server that is
// gone is told so once.
func TestAbandonedAndLost(t *testing.T) {
	gone := make(chan struct{})
	s, r := link(t, spec.V2026_07_28, func(w http.ResponseWriter, q *http.Request) {
		sse(w, ": begun\n\n")
		<-q.Context().Done()
		close(gone)
	})
	send(t, s, `{"jsonrpc":"2.0","id":2,"method":"tools/call"}`)
	r.await(t, func(f wire.Frame) bool { return f.HTTP != nil && f.HTTP.Event != nil })
	if s.Abandon(wire.IntID(3)) || !s.Abandon(wire.IntID(2)) {
		t.Error("it is not known which requests are open")
	}
	<-gone
	r.await(t, func(f wire.Frame) bool {
		return f.From == wire.Client && f.Wordless() && f.HTTP.End == "closed by the client"
	})
	r.await(t, func(f wire.Frame) bool { return f.HTTP != nil && f.HTTP.End != "" })

	server := httptest.NewServer(nil)
	e, err := NewEndpoint(server.URL, HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	lost := make(chan error, 1)
	dead := &Streamable{Endpoint: e, Rev: spec.V2025_11_25, Record: r.record, Lost: func(err error) { lost <- err }}
	dead.Open()
	defer dead.Close(context.Background())
	if _, err := dead.Send(t.Context(), []byte(hello)); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("sending came to %v", err)
	}
	if err := <-lost; !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}

// The first event of the old transport says where messages go; their answers
// come on the stream.
func TestLegacySSE(t *testing.T) {
	out := make(chan string, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.Method == "GET":
			sse(w, "event: endpoint\ndata: /messages?session=1\n\n")
			for text := range out {
				sse(w, text)
			}
		case q.URL.String() == "/messages?session=1" && q.Header.Get("Content-Type") == "application/json":
			w.WriteHeader(202)
			out <- "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"
		default:
			w.WriteHeader(404)
		}
	}))
	defer server.Close()
	e, err := NewEndpoint(server.URL+"/sse", HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, lost := &recorder{more: make(chan struct{})}, make(chan error, 1)
	s := &LegacySSE{Endpoint: e, Record: r.record, Lost: func(err error) { lost <- err }}
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Send(t.Context(), []byte(hello)); err != nil {
		t.Fatal(err)
	}
	if f := r.answer(t, "1"); f.HTTP.Exchange != 1 || f.HTTP.Event.Type != "message" {
		t.Errorf("%s", f.AppendJSON(nil))
	}
	r.await(t, func(f wire.Frame) bool { return f.HTTP.Exchange == 2 && f.HTTP.Status == 202 })
	close(out)
	if err := <-lost; !strings.Contains(err.Error(), "closed the stream") {
		t.Error(err)
	}
}

// Messages are not taken to where another origin wants them, and what is no
// stream is told.
func TestLegacySSEThatIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		says string
	}{
		"no stream": {func(w http.ResponseWriter, _ *http.Request) { json(w, 405, "{}") }, "405 application/json"},
		"another origin": {func(w http.ResponseWriter, _ *http.Request) {
			sse(w, "event: endpoint\ndata: http://127.0.0.2:1/x\n\n")
		}, "another origin"},
		"ends without it": {func(w http.ResponseWriter, _ *http.Request) { sse(w, "data: {}\n\n") }, "closed the stream"},
	} {
		server := httptest.NewServer(c.h)
		e, err := NewEndpoint(server.URL+"/sse", HTTPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{more: make(chan struct{})}
		s := &LegacySSE{Endpoint: e, Record: r.record}
		if err = s.Open(t.Context()); err == nil {
			_, err = s.Send(t.Context(), []byte(hello))
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
		server.Close()
	}
}

// The stream of a batch whose requests were all answered has come to its end,
// though its events have ids; one that owes an answer is taken up.
func TestABatchIsTakenUpWhileItIsOwedAnswers(t *testing.T) {
	for owed, want := range map[bool]int{false: 0, true: 1} {
		var mu sync.Mutex
		taken := 0
		s, r := link(t, spec.V2025_03_26, func(w http.ResponseWriter, q *http.Request) {
			switch {
			case q.Method == "GET":
				mu.Lock()
				taken++
				mu.Unlock()
				sse(w, "id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n")
			case owed:
				sse(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
			default:
				sse(w, "id: e2\ndata: [{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]\n\n")
			}
		})
		send(t, s, `[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
		r.await(t, func(f wire.Frame) bool { return f.HTTP.Last })
		mu.Lock()
		if taken != want {
			t.Errorf("owed %v: taken up %d times", owed, taken)
		}
		mu.Unlock()
	}
}

// What the user gives for a header goes to the server and into no frame.
func TestHeadersOfTheUserAreNotRecorded(t *testing.T) {
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		got <- q.Header.Get("X-Api-Key")
		w.WriteHeader(202)
	}))
	defer server.Close()
	e, err := NewEndpoint(server.URL, HTTPOptions{Header: http.Header{"X-Api-Key": {"s3cret word"}}})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{more: make(chan struct{})}
	s := &Streamable{Endpoint: e, Rev: spec.V2025_11_25, Record: r.record}
	s.Open()
	defer s.Close(t.Context())
	send(t, s, `{"jsonrpc":"2.0","method":"notifications/x"}`)
	sent := r.await(t, func(f wire.Frame) bool { return f.From == wire.Client })
	if key := <-got; key != "s3cret word" || sent.HTTP.Header["X-Api-Key"][0] != "…" {
		t.Errorf("sent %q, recorded %q", key, sent.HTTP.Header)
	}
}

// A message that asks nothing is handed over once it was written and the time
// for it is up, though the server says nothing of it.
func TestASlowHeadIsNoFailure(t *testing.T) {
	release := make(chan struct{})
	s, _ := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		io.Copy(io.Discard, q.Body)
		<-release
	})
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Send(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`)); err != nil {
		t.Error(err)
	}
}

// A stream that a server keeps closing is taken up again and again behind the
// same event, at the pace that the server asks for.
func TestAPolledStreamIsTakenUpUntilItAnswers(t *testing.T) {
	var mu sync.Mutex
	polls := 0
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case q.Method == "POST":
			sse(w, "id: e1\nretry: 1\ndata:\n\n")
		case q.Header.Get("Last-Event-ID") != "e1":
			t.Errorf("taken up behind %q", q.Header.Get("Last-Event-ID"))
		case polls < 2:
			polls++
			sse(w, ": nothing yet\n\n")
		default:
			sse(w, "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
		}
	})
	send(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if f := r.answer(t, "2"); f.HTTP.Exchange != 4 {
		t.Errorf("%s", f.AppendJSON(nil))
	}
}

// A stream that is declared as something else, opened with another status of
// success, or whose URI is broken over lines, still is one to be looked at.
func TestALegacyStreamIsReadThoughItIsOdd(t *testing.T) {
	for _, c := range []struct {
		status    int
		kind, uri string
	}{{200, "text/plain", "/messages"}, {201, "text/event-stream", "/messages"}, {200, "", "/mess\ndata: ages"}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			w.Header()["Content-Type"] = []string{c.kind}
			w.WriteHeader(c.status)
			fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", c.uri)
			w.(http.Flusher).Flush()
			<-q.Context().Done()
		}))
		e, err := NewEndpoint(server.URL+"/sse", HTTPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := &LegacySSE{Endpoint: e, Record: (&recorder{more: make(chan struct{})}).record}
		if err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if to, err := s.To(t.Context()); err != nil || to.Path != "/messages" {
			t.Errorf("%+v: %v, %v", c, to, err)
		}
		s.Close()
		server.Close()
	}
}
