package server

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// patience is how long a test waits for what must come.
const testTimeout = 10 * time.Second

// A peer is a client of the tests: raw lines in, raw lines out.
type testClient struct {
	t            *testing.T
	stream       *transport.Stream
	revision     spec.Revision
	lines        chan string
	received     []wire.Message // everything the server sent
	requestCount int
	// methods are those of the requests sent, by key of the id.
	methods map[string]string
}

func (p *testClient) recordMethod(id wire.ID, method string) { p.methods[id.Key()] = method }

// all walks the pages of a list and returns its entries.
func (p *testClient) listAll(method, member string) []gjson.Result {
	p.t.Helper()
	var out []gjson.Result
	cursor := ""
	for range 50 {
		r := wantResult(p.t, p.request(method, cursor)).Result()
		out = append(out, r.Get(member).Array()...)
		next := r.Get("nextCursor")
		if !next.Exists() {
			return out
		}
		cursor = `"cursor":` + next.Raw
	}
	p.t.Fatalf("%s has no end", method)
	return nil
}

// start starts a server and a client that has not yet said anything.
func startServer(t *testing.T, o Options) *testClient {
	t.Helper()
	s, err := Target("library", o).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &testClient{t: t, stream: s, lines: make(chan string, 1000), methods: map[string]string{}}
	go func() {
		defer close(p.lines)
		for {
			l, err := s.ReadLine()
			if err != nil {
				return
			}
			p.lines <- string(l.Bytes)
		}
	}()
	t.Cleanup(s.Kill)
	return p
}

// open starts a server and opens a session of the revision; client is the
// JSON of the client's capabilities.
func openSession(t *testing.T, rev spec.Revision, client string, o Options) *testClient {
	t.Helper()
	p := startServer(t, o)
	p.revision = rev
	p.received = nil
	if rev.Facts().Stateless {
		return p
	}
	p.recordMethod(wire.StringID("open"), "initialize")
	p.send(
		`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}}}`,
		rev, client,
	)
	m := p.nextMessage()
	if got := m.Result().Get("protocolVersion").String(); got != string(rev) {
		t.Fatalf("initialize at %s was answered with %s", rev, m.Raw)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *testClient) send(format string, args ...any) {
	p.t.Helper()
	if err := p.stream.WriteLine(p.t.Context(), fmt.Appendf(nil, format, args...)); err != nil {
		p.t.Fatal(err)
	}
}

// line returns the next line of the server.
func (p *testClient) nextLine() string {
	p.t.Helper()
	select {
	case l, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the server closed its output")
		}
		p.received = append(p.received, wire.Parse([]byte(l)))
		return l
	case <-time.After(testTimeout):
		p.t.Fatal("the server sent nothing")
	}
	return ""
}

func (p *testClient) nextMessage() wire.Message {
	p.t.Helper()
	return wire.Parse([]byte(p.nextLine()))
}

// params returns the JSON of params: in a stateless revision with the _meta
// that every request carries, with client as the capabilities.
func (p *testClient) params(client string, members ...string) string {
	members = slices.DeleteFunc(members, func(m string) bool { return m == "" })
	if p.revision.Facts().Stateless {
		members = append(members, statelessMeta(client))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func statelessMeta(client string, more ...string) string {
	return fmt.Sprintf(
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s%s}`,
		client, strings.Join(more, ""),
	)
}

// ask sends a request and returns its answer; other messages before it are
// passed over.
func (p *testClient) request(method string, members ...string) wire.Message {
	p.t.Helper()
	return p.requestAs("{}", method, members...)
}

func (p *testClient) requestAs(client, method string, members ...string) wire.Message {
	p.t.Helper()
	p.requestCount++
	id := wire.StringID(fmt.Sprintf("ask-%d", p.requestCount))
	p.recordMethod(id, method)
	p.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, p.params(client, members...))
	return p.responseTo(id)
}

func (p *testClient) responseTo(id wire.ID) wire.Message {
	p.t.Helper()
	for {
		if m := p.nextMessage(); m.IsResponse() && m.ID().Equal(id) {
			return m
		}
	}
}

// code requires an error and returns its code.
func errorCode(t *testing.T, m wire.Message) int {
	t.Helper()
	c, ok := m.Code()
	if !ok {
		t.Fatalf("got no error but %s", m.Raw)
	}
	return c
}

func wantCode(t *testing.T, m wire.Message, want int) {
	t.Helper()
	if got := errorCode(t, m); got != want {
		t.Errorf("error code %d, want %d: %s", got, want, m.Raw)
	}
}

func wantResult(t *testing.T, m wire.Message) wire.Message {
	t.Helper()
	if m.Kind != wire.Result {
		t.Fatalf("got no result but %s", m.Raw)
	}
	return m
}

// same compares JSON texts by value.
func wantSameJSON(t *testing.T, got, want string) {
	t.Helper()
	a, errA := decode(got)
	b, errB := decode(want)
	if errA != nil || errB != nil {
		t.Fatalf("not JSON: %v, %v: %s", errA, errB, got)
	}
	if string(encode(a)) != string(encode(b)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func eachRevision(t *testing.T, set spec.Set, f func(t *testing.T, rev spec.Revision)) {
	for _, rev := range set.Revisions() {
		t.Run(string(rev), func(t *testing.T) { t.Parallel(); f(t, rev) })
	}
}

func TestServeEndsWithInput(t *testing.T) {
	before := runtime.NumGoroutine()
	eachOf := []string{
		"", // nothing in flight
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stocktake","arguments":{"duration_ms":5000}}}`,
	}
	for _, line := range eachOf {
		p := openSession(t, spec.V2025_11_25, "{}", Options{Grace: 50 * time.Millisecond})
		p.send("%s", line)
		wantResult(t, p.request("ping"))
		p.stream.CloseInput()
		select {
		case <-p.stream.Done():
		case <-time.After(testTimeout):
			t.Fatal("the server lives on")
		}
		if p.stream.Status() != "exit status 0" {
			t.Errorf("the server ended with %s", p.stream.Status())
		}
		p.stream.Kill()
	}
	deadline := time.Now().Add(testTimeout)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines, %d before\n%s", n, before, buf[:runtime.Stack(buf, true)])
	}
}

func TestAnswersInFlightWithinGrace(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, "{}", Options{Grace: testTimeout})
	p.send(
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stocktake","arguments":{"duration_ms":50}}}`,
	)
	p.stream.CloseInput()
	wantResult(t, p.responseTo(wire.IntID(2)))
}

func TestServeEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	in, w := newPipe(t)
	defer w.Close()
	go func() { ended <- Serve(ctx, in, discard{}, Options{}) }()
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ended as if its input had")
		}
	case <-time.After(testTimeout):
		t.Fatal("it lives on")
	}
}

func TestServeEndsWhenOutputCloses(t *testing.T) {
	p := startServer(t, Options{})
	p.stream.Kill()
	select {
	case <-p.stream.Done():
	case <-time.After(testTimeout):
		t.Fatal("it lives on")
	}
}

func unmarshal(t *testing.T, raw string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func sorted(s []string) []string { slices.Sort(s); return s }
