package fuzz

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

func TestMannersLookAtEveryCallWhereverItHides(t *testing.T) {
	m := toolPolicy{tools: map[string]permission{
		"look":   {arguments: []string{`{"at":"x"}`}},
		"remove": {},
		"mine":   {anyArguments: true},
	}}
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	for line, allowed := range map[string]bool{
		call(`{"name":"look","arguments":{"at":"x"}}`):                                              true,
		call(`{"name":"look","arguments":{ "at" : "x" }}`):                                          true,
		call(`{"name":"look","arguments":{"at":"y"}}`):                                              false,
		call(`{"name":"look","arguments":{"at":"x","at":"y"}}`):                                     false,
		call(`{"name":"look"}`):                                                                     false,
		call(`{"name":"remove","arguments":{}}`):                                                    false,
		call(`{"name":"remove"}`):                                                                   false,
		call(`{"name":"mine","arguments":{"anything":1}}`):                                          true,
		call(`{"name":"mine","name":"remove"}`):                                                     false,
		call(`{"name":"unknown","arguments":[1]}`):                                                  true,
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"remove"}}`: false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"params":{"name":"remove"}}`:     false,
		`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove"}}]`:               false,
		`{"x":{"method":"tools/call","params":{"name":"remove"}}}`:                                  false,
		`{"Method":"TOOLS/CALL","Params":{"Name":"remove"}}`:                                        false,
		`{"method":"tools\u002fcall","params":{"name":"r\u0065move"}}`:                              false,
		`{"\u006dethod":"\u0074ools/call","params":{"name":"remove"}}`:                              false,
		`{"method":"tools/list","params":{"name":"remove"}}`:                                        true,
		`{"method":"tools/call","params":{"name":"remove"`:                                          false, // a lenient reader
		`{"method":"tools/call","params":{"name":"look"`:                                            true,
		"\ufeff" + call(`{"name":"remove"}`):                                                        false,
		call(`{"name":"remove"}`) + "\r":                                                            false,
	} {
		if got := m.allows([]byte(line)); got != allowed {
			t.Errorf("%q: allowed = %v", line, got)
		}
	}
}

// spy is a target that notes what it was sent.
type spy struct {
	transport.InProcess
	mu    sync.Mutex
	lines []string
}

func newSpy(o server.Options) *spy {
	s := &spy{}
	o.Incoming = func(next server.Receiver, _ server.FrameSink) server.Receiver {
		return func(line []byte) error {
			s.mu.Lock()
			s.lines = append(s.lines, string(line))
			s.mu.Unlock()
			return next(line)
		}
	}
	s.InProcess = transport.InProcess{Name: "spy", Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		return server.Serve(ctx, in, out, o)
	}}
	return s
}

func TestOnlyToolsThatAreReadOnlyOrAllowedAreCalled(t *testing.T) {
	t.Parallel()
	readOnly := map[string]bool{}
	listed := discoverTools(t, readOnly)
	for _, c := range []struct {
		allow string
		runs  int
	}{{"", 1000}, {"borrow_book", 800}} {
		s := newSpy(server.Options{})
		o := options()
		o.Runs, o.Allow = c.runs, func(tool string) bool { return tool == c.allow }
		res, err := Run(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		called := map[string]int{}
		for _, line := range s.lines {
			m := wire.Parse([]byte(line))
			if m.Method() != "tools/call" {
				continue
			}
			name := m.Params().Get("name").String()
			called[name]++
			if slices.Contains(listed, name) && !readOnly[name] && name != c.allow {
				t.Fatalf("with %q allowed, %s was called: %s", c.allow, name, line)
			}
		}
		if called["search_catalogue"] == 0 && called["opening_hours"] == 0 {
			t.Errorf("no read-only tool was called: %v", called)
		}
		if c.allow != "" && called[c.allow] == 0 {
			t.Errorf("%s is allowed and was not called", c.allow)
		}
		if c.allow == "" && (res.Stats.Held == 0 || !slices.Contains(res.Stats.HeldTools, "borrow_book")) {
			t.Errorf("%d plans were held back, tools %v", res.Stats.Held, res.Stats.HeldTools)
		}
	}
}

// discoverTools returns the tools of the reference, and notes the read-only
// ones.
func discoverTools(t *testing.T, readOnly map[string]bool) (names []string) {
	t.Helper()
	o := options()
	p := newExecutor(server.Target("reference", server.Options{}), o.Session, o.Session.Timeout)
	rev := spec.V2025_11_25
	l, err := p.open(t.Context(), script{rev: rev, opening: newCorpus(rev, offering{}).opening})
	if err != nil {
		t.Fatal(err)
	}
	defer l.end(false)
	for _, tool := range (&lister{ctx: t.Context(), conn: l}).list("tools/list", "tools") {
		names = append(names, tool.Get("name").String())
		readOnly[names[len(names)-1]] = tool.Get("annotations.readOnlyHint").Bool()
	}
	if len(names) < 8 || !readOnly["opening_hours"] || readOnly["borrow_book"] {
		t.Fatalf("the reference offers %v, read-only %v", names, readOnly)
	}
	return names
}

// A server without annotations has no tool that may be called.
func TestToolsWithoutHintsAreNotCalled(t *testing.T) {
	offer, err := discover(t.Context(), newExecutor(plain(`{"name":"act","inputSchema":{"type":"object"}}`), options().Session, options().Session.Timeout), spec.V2025_06_18, func(string) bool { return false })
	if err != nil || !offer.spoken {
		t.Fatalf("%+v, %v", offer, err)
	}
	if len(offer.frames) != 0 || !slices.Equal(offer.withheld, []string{"act"}) {
		t.Errorf("frames %v, held back %v", offer.frames, offer.withheld)
	}
}

// plain is a minimal server of one revision with one tool.
func plain(tool string) transport.Target {
	return transport.InProcess{Name: "plain", Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
		lines := transport.NewLineReader(in, 0)
		for {
			l, err := lines.Next()
			if err != nil {
				return nil
			}
			m := wire.Parse(l.Bytes)
			answer := `"error":{"code":-32601,"message":"no such method"}`
			switch m.Method() {
			case "initialize":
				answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"plain","version":"1"}}`
			case "ping":
				answer = `"result":{}`
			case "tools/list":
				answer = `"result":{"tools":[` + tool + `]}`
			}
			if m.Kind == wire.Request && m.ID().Usable() {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID().Raw, answer)
			}
		}
	}}
}

func TestATargetThatSpeaksNothingIsAnError(t *testing.T) {
	dead := transport.InProcess{Name: "dead", Serve: func(context.Context, io.Reader, io.Writer) error { return nil }}
	o := options()
	o.Runs = 10
	if res, err := Run(t.Context(), dead, o); err == nil || res.Stats.Plans != 0 {
		t.Errorf("%d plans, error %v", res.Stats.Plans, err)
	}
	o.Revisions = []spec.Revision{spec.V2024_11_05}
	res, err := Run(t.Context(), plain(`{"name":"act","inputSchema":{"type":"object"}}`), o)
	if err != ErrNotSpoken || len(res.Revisions) != 1 || res.Revisions[0].Spoken || !strings.Contains(res.Revisions[0].Why, "another revision") {
		t.Errorf("%+v, %v", res.Revisions, err)
	}
}
