package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// testTimeout is how long a test waits for a message that must come.
const testTimeout = 10 * time.Second

// A testClient is a client on stdio that sends and receives raw lines.
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

// recordMethod records the method of a request, so that its result can be validated.
func (p *testClient) recordMethod(id wire.ID, method string) { p.methods[id.Key()] = method }

// listMembers are the methods that list features, and the members of their results.
var listMembers = map[string]string{
	"tools/list": "tools", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
	"prompts/list": "prompts",
}

// listAll returns the entries of all pages of a list.
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

// startServer starts a server and returns its client, which has sent nothing.
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

// openSession starts a server and opens a session of the revision; client is the JSON
// of the client's capabilities.
func openSession(t *testing.T, rev spec.Revision, client string, o Options) *testClient {
	t.Helper()
	p := startServer(t, o)
	p.revision = rev
	p.received = nil
	if rev.Facts().Stateless {
		return p
	}
	p.recordMethod(wire.StringID("open"), "initialize")
	p.send(initializeFormat, rev, client)
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

// nextLine returns the next line of the server.
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

// params returns the JSON of params. In a stateless revision they hold the _meta that
// every request carries, with client as the capabilities.
func (p *testClient) params(client string, members ...string) string {
	members = slices.DeleteFunc(members, func(m string) bool { return m == "" })
	if p.revision.Facts().Stateless {
		members = append(members, statelessMeta(client))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// paramsWithMeta is params with further members of _meta.
func (p *testClient) paramsWithMeta(client, members, meta string) string {
	if p.revision.Facts().Stateless {
		return `{` + members + `,` + statelessMeta(client, `,`+meta) + `}`
	}
	return `{` + members + `,"_meta":{` + meta + `}}`
}

// statelessMeta returns the _meta that every request of a stateless revision carries.
func statelessMeta(client string, more ...string) string {
	return fmt.Sprintf(
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s%s}`,
		client, strings.Join(more, ""),
	)
}

// request sends a request and returns its response; it skips other messages.
func (p *testClient) request(method string, members ...string) wire.Message {
	p.t.Helper()
	return p.requestAs("{}", method, members...)
}

// requestAs is request with the client's capabilities in a stateless revision.
func (p *testClient) requestAs(client, method string, members ...string) wire.Message {
	p.t.Helper()
	p.requestCount++
	id := wire.StringID(fmt.Sprintf("ask-%d", p.requestCount))
	p.recordMethod(id, method)
	p.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, p.params(client, members...))
	return p.responseTo(id)
}

// responseTo returns the response to a request; it skips other messages.
func (p *testClient) responseTo(id wire.ID) wire.Message {
	p.t.Helper()
	for {
		if m := p.nextMessage(); m.IsResponse() && m.ID().Equal(id) {
			return m
		}
	}
}

// errorCode requires an error and returns its code.
func errorCode(t *testing.T, m wire.Message) int {
	t.Helper()
	c, ok := m.Code()
	if !ok {
		t.Fatalf("received %s, want an error", m.Raw)
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
		t.Fatalf("received %s, want a result", m.Raw)
	}
	return m
}

// wantToolError requires a tool result that reports an error.
func wantToolError(t *testing.T, m wire.Message) {
	t.Helper()
	if !wantResult(t, m).Result().Get("isError").Bool() {
		t.Errorf("isError is not set: %s", m.Raw)
	}
}

// wantToolSuccess requires a complete tool result that reports no error.
func wantToolSuccess(t *testing.T, m wire.Message) {
	t.Helper()
	r := wantResult(t, m).Result()
	if resultType := r.Get("resultType"); resultType.Exists() && resultType.String() != "complete" {
		t.Errorf("the result is not complete: %s", m.Raw)
	}
	if r.Get("isError").Bool() {
		t.Errorf("isError is set: %s", m.Raw)
	}
}

// wantInputRequired requires an input_required result and returns it.
func wantInputRequired(t *testing.T, m wire.Message) gjson.Result {
	t.Helper()
	r := wantResult(t, m).Result()
	if got := memberNames(t, r.Raw); got != "_meta inputRequests requestState resultType" ||
		r.Get("resultType").String() != "input_required" {
		t.Errorf("the result asks for no input: %s", m.Raw)
	}
	return r
}

// wantRequired requires the error for a client that lacks these capabilities.
func wantRequired(t *testing.T, m wire.Message, capabilities string) {
	t.Helper()
	wantCode(t, m, spec.MissingClientCapability)
	if got := m.Error().Get("data.requiredCapabilities").Raw; got != capabilities {
		t.Errorf("the required capabilities are %s, want %s", got, capabilities)
	}
}

// wantSameJSON compares JSON texts by value.
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

// wantEnd waits until the server has ended.
func (p *testClient) wantEnd() {
	p.t.Helper()
	select {
	case <-p.stream.Done():
	case <-time.After(testTimeout):
		p.t.Fatal("the server did not end")
	}
}

func TestServeEndsWithInput(t *testing.T) {
	before := runtime.NumGoroutine()
	lines := []string{
		"", // nothing in flight
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stocktake","arguments":{"duration_ms":5000}}}`,
	}
	for _, line := range lines {
		p := openSession(t, spec.V2025_11_25, "{}", Options{Grace: 50 * time.Millisecond})
		p.send("%s", line)
		wantResult(t, p.request("ping"))
		p.stream.CloseInput()
		p.wantEnd()
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
		t.Errorf("%d goroutines are left, %d existed before\n%s", n, before, buf[:runtime.Stack(buf, true)])
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
	in, w := io.Pipe()
	defer w.Close()
	go func() { ended <- Serve(ctx, in, io.Discard, Options{}) }()
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("Serve returned no error, want the cause of the context")
		}
	case <-time.After(testTimeout):
		t.Fatal("Serve did not return")
	}
}

func TestServeEndsWhenOutputCloses(t *testing.T) {
	p := startServer(t, Options{})
	p.stream.Kill()
	p.wantEnd()
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
