package fault

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

func TestFaultsAreCompletelyDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		switch {
		case !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(f.Name):
			t.Errorf("the name %q is not in kebab case", f.Name)
		case seen[f.Name]:
			t.Errorf("two faults are named %s", f.Name)
		case f.Does == "" || f.Apply == nil:
			t.Errorf("%s is incomplete", f.Name)
		case f.Fuzz != (len(f.CaughtBy) == 0): // what the fuzzer must find is found by no check
			t.Errorf("%s is caught by nothing", f.Name)
		case len(f.Also) > 3:
			t.Errorf("%s is also caught by %d checks: it is two faults, or the checks overlap", f.Name, len(f.Also))
		}
		seen[f.Name] = true
		for check, reason := range f.Also {
			if check == "" || reason == "" {
				t.Errorf("%s is also caught by %q because %q", f.Name, check, reason)
			}
		}
		if got, err := Lookup(f.Name); err != nil || got.Name != f.Name {
			t.Errorf("Lookup(%s) = %s, %v", f.Name, got.Name, err)
		}
	}
	if _, err := Lookup("no-such-fault"); err == nil || !strings.Contains(err.Error(), "no-such-fault") {
		t.Errorf("error %v does not name the fault", err)
	}
}

// The helpers change what they say and leave the rest byte for byte.
func TestHelpersOfFaults(t *testing.T) {
	for name, c := range map[string]struct {
		apply    apply
		method   string
		contains []string
	}{
		"onRequest": {onRequest("tools/call", func(r *server.Request) { r.Params["name"] = "no_such" }), "tools/call", []string{"Unknown tool: no_such"}},
		"onResult":  {onResult("tools/call", func(o server.Object) { o["extra"] = true }), "tools/call", []string{`"extra":true`}},
		"onError": {onError("", func(_ *server.Request, e *server.Error) (any, *server.Error) {
			e.Code = 7
			return nil, e
		}), "no/such", []string{`"code":7`}},
		"beforeAnswer": {beforeAnswer("ping", func(_ context.Context, r *server.Request) { r.Notify("notifications/early", nil) }), "ping", []string{`"method":"notifications/early"`}},
		"onLine":       {onLine(wire.Request, "ping", func(m wire.Message, out server.FrameSink) { out(raw(`{"id":%s}`, m.ID())) }), "ping", []string{`{"id":9007199254740993}`}},
		"onFrame": {onFrame(func(_ server.Frame, m map[string]json.RawMessage) { m["x"] = json.RawMessage("1") }, wire.Result), "ping",
			[]string{`"id":9007199254740993`, `"x":1`}},
		"all": {all(
			onResult("ping", func(o server.Object) { o["first"] = 1 }),
			onResult("ping", func(o server.Object) { o["second"] = o["first"] }),
		), "ping", []string{`"second":1`}},
	} {
		t.Run(name, func(t *testing.T) {
			f := Fault{Apply: c.apply}
			s, err := server.Target("t", f.Options(server.Options{})).Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Kill()
			for _, line := range []string{
				`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
				`{"jsonrpc":"2.0","id":9007199254740993,"method":"` + c.method + `","params":{"name":"opening_hours"}}`,
			} {
				if err := s.WriteLine(t.Context(), []byte(line)); err != nil {
					t.Fatal(err)
				}
			}
			s.CloseInput()
			var said string
			for {
				l, err := s.ReadLine()
				if err != nil {
					break
				}
				said += string(l.Bytes) + "\n"
			}
			for _, want := range c.contains {
				if !strings.Contains(said, want) {
					t.Errorf("the server said\n%swithout %s", said, want)
				}
			}
		})
	}
}
