package exit

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// poolOf returns a pool of sessions with the reference server, which ends when the
// function returns true for the message with that number in its instance.
func poolOf(ends func(m wire.Message, number int) bool) *session.Pool {
	o := session.DefaultOptions()
	o.Timeout, o.Grace = 30*time.Second, 5*time.Second
	target := transport.InProcess{Name: "exiting", Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		number := 0
		o := server.Options{Incoming: func(next server.Receiver, _ server.FrameSink) server.Receiver {
			return func(line []byte) error {
				if number++; ends(wire.Parse(line), number) {
					return errors.New("it ends")
				}
				return next(line)
			}
		}}
		return server.Serve(ctx, in, out, o)
	}}
	return session.NewPool(session.NewLauncher(target, o), spec.V2025_06_18)
}

func open(t *testing.T, pool *session.Pool) *session.Session {
	t.Helper()
	s, err := pool.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// always names a check for every method.
func always(string) string { return "some.check" }

// request sends a request whose answer does not matter.
func request(t *testing.T, s *session.Session, method string, params session.Params) {
	t.Helper()
	_, _ = s.Request(t.Context(), method, params)
}

func TestNoEndWhileTheServerRuns(t *testing.T) {
	pool := poolOf(func(wire.Message, int) bool { return false })
	s := open(t, pool)
	request(t, s, "ping", nil)
	if end := Of(s, 0, false, pool); end != nil {
		t.Errorf("the server %s", end.Reason)
	}
}

// The message that ends the server alone is told from others that are open.
func TestIsolatesTheMessage(t *testing.T) {
	pool := poolOf(func(m wire.Message, _ int) bool { return m.Method() == "resources/list" })
	s := open(t, pool)
	from := s.Len()
	for _, method := range []string{"tools/list", "resources/list"} {
		if _, err := s.Start(t.Context(), method, nil); err != nil {
			t.Fatal(err)
		}
	}
	request(t, s, "ping", nil)
	end := Of(s, from, false, pool)
	if end == nil || !end.Alone {
		t.Fatalf("the end is %+v", end)
	}
	alone := end.Isolate(t.Context(), pool, always)
	if alone == nil || alone.Suspects[0].Message.Method() != "resources/list" || alone.Reason == Hangs {
		t.Errorf("alone it ends: %+v", alone)
	}
}

// A server that ends once its session is open does not end on what comes next.
func TestIsolatesTheOpening(t *testing.T) {
	pool := poolOf(func(m wire.Message, _ int) bool { return m.Method() == "notifications/initialized" })
	s := open(t, pool)
	from := s.Len()
	request(t, s, "tools/list", nil)
	end := Of(s, from, false, pool)
	if end == nil {
		t.Fatal("no end")
	}
	alone := end.Isolate(t.Context(), pool, always)
	if alone == nil || alone.Suspects[0].Message.Method() != "notifications/initialized" {
		t.Errorf("alone it ends: %+v", alone)
	}
}

// A server that ends on the fifth ping does not on the first, and does when all are sent
// again.
func TestReplaysTheSession(t *testing.T) {
	pool := poolOf(func(m wire.Message, number int) bool { return m.Method() == "ping" && number > 6 })
	s := open(t, pool)
	for range 5 {
		request(t, s, "ping", nil)
	}
	end := Of(s, 0, false, pool)
	if end == nil {
		t.Fatal("no end")
	}
	if alone := end.Isolate(t.Context(), pool, always); alone != nil {
		t.Errorf("alone it ends: %+v", alone)
	}
	again := end.Replay(t.Context(), pool)
	if again == nil || again.Suspects[0].Message.Method() != "ping" {
		t.Errorf("replayed, it ends: %+v", again)
	}
}

// hangingPool returns a pool of sessions with the reference server, which reads nothing
// since a message for which the function returns true.
func hangingPool(hangs func(m wire.Message) bool) *session.Pool {
	o := session.DefaultOptions()
	o.Timeout, o.Grace = time.Second, 5*time.Second
	target := transport.InProcess{Name: "hanging", Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		hung := false
		o := server.Options{Incoming: func(next server.Receiver, _ server.FrameSink) server.Receiver {
			return func(line []byte) error {
				if hung = hung || hangs(wire.Parse(line)); hung {
					return nil
				}
				return next(line)
			}
		}}
		return server.Serve(ctx, in, out, o)
	}}
	return session.NewPool(session.NewLauncher(target, o), spec.V2025_06_18)
}

// The request since which the server hangs is told from those before and after it.
func TestIsolatesTheHang(t *testing.T) {
	pool := hangingPool(func(m wire.Message) bool { return m.Method() == "resources/list" })
	s := open(t, pool)
	for _, method := range []string{"tools/list", "resources/list", "prompts/list"} {
		request(t, s, method, nil)
	}
	end := Of(s, s.Len(), true, pool)
	if end == nil || !end.IsSilence() {
		t.Fatalf("the end is %+v", end)
	}
	if alone := end.IsolateSilence(t.Context(), pool, always); alone == nil || alone.Method() != "resources/list" {
		t.Errorf("alone it hangs: %+v", alone)
	}
}

// A server that hangs on any request hangs on none in particular.
func TestIsolatesNoHangOnEverything(t *testing.T) {
	pool := hangingPool(func(m wire.Message) bool { return m.Kind == wire.Request && m.Method() != "initialize" })
	s := open(t, pool)
	request(t, s, "tools/list", nil)
	if alone := Of(s, 0, true, pool).IsolateSilence(t.Context(), pool, always); alone != nil {
		t.Errorf("alone it hangs on %s", alone.Method())
	}
}

func TestOrdinaryMessages(t *testing.T) {
	pool := poolOf(func(wire.Message, int) bool { return false })
	s := open(t, pool)
	request(t, s, "tools/list", nil)
	request(t, s, "resources/list", nil)
	request(t, s, "prompts/list", nil)
	tools, _ := s.Request(t.Context(), "tools/list", nil)
	uri, _ := s.Request(t.Context(), "resources/list", nil)
	tool := tools.Message.Result().Get("tools.0.name").String()
	cursor := tools.Message.Result().Get("nextCursor").String()
	resource := uri.Message.Result().Get("resources.0.uri").String()
	if tool == "" || cursor == "" || resource == "" {
		t.Fatal("the reference lists too little")
	}
	end := &End{Session: s, named: namedBy([]*session.Session{s})}
	for _, c := range []struct {
		raw      string
		ordinary bool
	}{
		{`{"jsonrpc":"2.0","id":9,"method":"ping"}`, true},
		{`{"jsonrpc":"2.0","id":9,"method":"ping","params":[]}`, false},
		{`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, true},
		{`{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"cursor":"` + cursor + `"}}`, true},
		{`{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"cursor":"invented"}}`, false},
		{`{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"cursor":3}}`, false},
		{`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"invented"}}`, false},
		{`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"` + tool + `","arguments":[]}}`, false},
		{`{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":"` + resource + `"}}`, true},
		{`{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":"file:///invented"}}`, false},
		{`{"jsonrpc":"2.0","id":9,"method":"tasks/list"}`, false}, // not of this revision
		{`{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{"level":"info"}}`, true},
		{`{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{"level":"loud"}}`, false},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, true},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`, false},
		{`{"jsonrpc":"2.0","id":9,"method":"mcpcheck/invented"}`, false},
		{`not JSON`, false},
	} {
		e := wire.NewEntry(5, wire.Frame{From: wire.Client, Raw: []byte(c.raw)})
		if got := end.IsOrdinary(e); got != c.ordinary {
			t.Errorf("%s: ordinary is %t", c.raw, got)
		}
	}
}
