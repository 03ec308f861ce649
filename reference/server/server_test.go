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
const patience = 10 * time.Second

// A peer is a client of the tests: raw lines in, raw lines out.
type peer struct {
	t     *testing.T
	s     *transport.Stream
	rev   spec.Revision
	lines chan string
	seen  []wire.Message // everything the server sent
	asked int
	// methods are those of the requests sent, by key of the id.
	methods map[string]string
}

func (p *peer) sent(id wire.ID, method string) { p.methods[id.Key()] = method }

// all walks the pages of a list and returns its entries.
func (p *peer) all(method, member string) []gjson.Result {
	p.t.Helper()
	var out []gjson.Result
	cursor := ""
	for range 50 {
		r := wantResult(p.t, p.ask(method, cursor)).Result()
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
func start(t *testing.T, o Options) *peer {
	t.Helper()
	s, err := Target("library", o).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, s: s, lines: make(chan string, 1000), methods: map[string]string{}}
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
func open(t *testing.T, rev spec.Revision, client string, o Options) *peer {
	t.Helper()
	p := start(t, o)
	p.rev = rev
	p.seen = nil
	if rev.Facts().Stateless {
		return p
	}
	p.sent(wire.StringID("open"), "initialize")
	p.send(`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}}}`, rev, client)
	m := p.next()
	if got := m.Result().Get("protocolVersion").String(); got != string(rev) {
		t.Fatalf("initialize at %s was answered with %s", rev, m.Raw)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	if err := p.s.WriteLine(p.t.Context(), fmt.Appendf(nil, format, args...)); err != nil {
		p.t.Fatal(err)
	}
}

// line returns the next line of the server.
func (p *peer) line() string {
	p.t.Helper()
	select {
	case l, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the server closed its output")
		}
		p.seen = append(p.seen, wire.Parse([]byte(l)))
		return l
	case <-time.After(patience):
		p.t.Fatal("the server sent nothing")
	}
	return ""
}

func (p *peer) next() wire.Message {
	p.t.Helper()
	return wire.Parse([]byte(p.line()))
}

// params returns the JSON of params: in a stateless revision with the _meta
// that every request carries, with client as the capabilities.
func (p *peer) params(client string, members ...string) string {
	members = slices.DeleteFunc(members, func(m string) bool { return m == "" })
	if p.rev.Facts().Stateless {
		members = append(members, meta(client))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func meta(client string, more ...string) string {
	return fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s%s}`, client, strings.Join(more, ""))
}

// ask sends a request and returns its answer; other messages before it are
// passed over.
func (p *peer) ask(method string, members ...string) wire.Message {
	p.t.Helper()
	return p.askAs("{}", method, members...)
}

func (p *peer) askAs(client, method string, members ...string) wire.Message {
	p.t.Helper()
	p.asked++
	id := wire.StringID(fmt.Sprintf("ask-%d", p.asked))
	p.sent(id, method)
	p.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, p.params(client, members...))
	return p.answer(id)
}

func (p *peer) answer(id wire.ID) wire.Message {
	p.t.Helper()
	for {
		if m := p.next(); m.IsResponse() && m.ID().Equal(id) {
			return m
		}
	}
}

// code requires an error and returns its code.
func code(t *testing.T, m wire.Message) int {
	t.Helper()
	c, ok := m.Code()
	if !ok {
		t.Fatalf("got no error but %s", m.Raw)
	}
	return c
}

func wantCode(t *testing.T, m wire.Message, want int) {
	t.Helper()
	if got := code(t, m); got != want {
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
func same(t *testing.T, got, want string) {
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

func TestTheServerEndsWithItsInput(t *testing.T) {
	before := runtime.NumGoroutine()
	eachOf := []string{
		"", // nothing in flight
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stocktake","arguments":{"duration_ms":5000}}}`,
	}
	for _, line := range eachOf {
		p := open(t, spec.V2025_11_25, "{}", Options{Grace: 50 * time.Millisecond})
		p.send("%s", line)
		wantResult(t, p.ask("ping"))
		p.s.CloseInput()
		select {
		case <-p.s.Done():
		case <-time.After(patience):
			t.Fatal("the server lives on")
		}
		if p.s.Status() != "exit status 0" {
			t.Errorf("the server ended with %s", p.s.Status())
		}
		p.s.Kill()
	}
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines, %d before\n%s", n, before, buf[:runtime.Stack(buf, true)])
	}
}

func TestWhatIsInFlightAtTheEndIsStillAnsweredIfItIsQuick(t *testing.T) {
	p := open(t, spec.V2025_11_25, "{}", Options{Grace: patience})
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stocktake","arguments":{"duration_ms":50}}}`)
	p.s.CloseInput()
	wantResult(t, p.answer(wire.IntID(2)))
}

func TestTheServerEndsWhenItIsToldTo(t *testing.T) {
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
	case <-time.After(patience):
		t.Fatal("it lives on")
	}
}

func TestTheServerEndsWhenNobodyReadsIt(t *testing.T) {
	p := start(t, Options{})
	p.s.Kill()
	select {
	case <-p.s.Done():
	case <-time.After(patience):
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
