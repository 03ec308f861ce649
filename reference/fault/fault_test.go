package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// How long a request may stay unanswered in the script: of a server that is to
// say what the honest one says, and of one that is to deviate. Some faults
// never answer: once two requests went unanswered, no more is waited for.
const (
	patience = 10 * time.Second
	silence  = 250 * time.Millisecond
)

// script is what is said to the server in a revision: every method, every
// tool, faulty messages and notifications.
func script(rev spec.Revision) []string {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{}},"io.modelcontextprotocol/logLevel":"debug","progressToken":"token"}`
	if !rev.Facts().Stateless {
		meta = `"_meta":{"progressToken":9007199254740993}`
	}
	var lines []string
	add := func(method, members string) {
		if members != "" {
			members += ","
		}
		id := fmt.Sprint(9007199254740993 + len(lines))
		if len(lines)%2 == 0 {
			id = `"id-` + id + `"`
		}
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, members, meta))
	}
	if rev.Facts().Stateless {
		add("subscriptions/listen", `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["library://books/b1"]}`)
		add("server/discover", ``)
	} else {
		lines = append(lines,
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"`+string(rev)+`","capabilities":{"roots":{},"sampling":{},"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2999-01-01","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		)
		add("ping", ``)
		add("logging/setLevel", `"level":"debug"`)
		add("logging/setLevel", `"level":"loud"`)
		add("resources/subscribe", `"uri":"library://books/b1"`)
	}
	for _, list := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		add(list, ``)
		add(list, `"cursor":"nonsense"`)
	}
	for _, c := range []string{
		`"name":"opening_hours"`, `"name":"search_catalogue","arguments":{"query":"fog"}`, `"name":"search_catalogue","arguments":{"query":5}`,
		`"name":"new_arrivals"`, `"name":"show_exhibits"`, `"name":"stocktake","arguments":{"duration_ms":1}`, `"name":"scan_card"`,
		`"name":"read_desk_log"`, `"name":"borrow_book","arguments":{"book":"b1","reader":"ada"}`, `"name":"set_reading_room","arguments":{"open":true}`,
		`"name":"reset_stamp"`, `"name":"check_file","arguments":{"uri":"file:///x"}`, `"name":"register_reader"`, `"name":"suggest_reading","arguments":{"mood":"x"}`, `"name":"no_such"`, ``,
	} {
		add("tools/call", c)
	}
	add("resources/read", `"uri":"library://books/b1"`)
	add("resources/read", `"uri":"library://covers/b1"`)
	add("resources/read", `"uri":"library://nowhere"`)
	add("prompts/get", `"name":"summarise_book","arguments":{"book":"b1"}`)
	add("prompts/get", `"name":"no_such"`)
	add("completion/complete", `"ref":{"type":"ref/resource","uri":"library://shelves/{shelf}"},"argument":{"name":"shelf","value":""}`)
	add("no/such", ``)
	return append(lines,
		`{"jsonrpc":"2.0","method":"notifications/unheard-of"}`,
		`{not json}`,
		`[{"jsonrpc":"2.0","id":10,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
	)
}

var (
	states   = regexp.MustCompile(`"requestState": ?"[^"]*"`)
	expected = map[string]string{"roots/list": `{"roots":[]}`, "sampling/createMessage": `{"role":"user","content":{"type":"text","text":"x"},"model":"m"}`, "elicitation/create": `{"action":"decline"}`}
)

// play returns all that the server says in the scripts of a revision and how
// it ends.
func play(t *testing.T, o server.Options, rev spec.Revision, silence time.Duration) string {
	t.Helper()
	said := perform(t, o, script(rev), rev, silence)
	if !rev.Facts().Stateless {
		said += perform(t, o, []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`}, rev, silence)
	}
	return said
}

func perform(t *testing.T, o server.Options, script []string, rev spec.Revision, silence time.Duration) string {
	t.Helper()
	s, err := server.Target("t", o).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	heard := make(chan string, 1000)
	go func() {
		defer close(heard)
		for {
			l, err := s.ReadLine()
			if err != nil {
				return
			}
			heard <- string(l.Bytes)
		}
	}()
	var said strings.Builder
	unanswered := 0
	hear := func(id wire.ID) {
		wait := silence
		if unanswered > 1 {
			wait = time.Millisecond
		}
		for {
			select {
			case l, ok := <-heard:
				if !ok {
					return
				}
				said.WriteString(states.ReplaceAllString(l, "") + "\n")
				m := wire.Parse([]byte(l))
				if answer := expected[m.Method()]; m.Kind == wire.Request && answer != "" {
					s.WriteLine(t.Context(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID(), answer))
				}
				if m.IsResponse() && m.ID().Equal(id) || m.Params().Get(`_meta.io\.modelcontextprotocol/subscriptionId`).Exists() && strings.HasSuffix(m.Method(), "acknowledged") {
					return
				}
			case <-time.After(wait):
				unanswered++
				return
			}
		}
	}
	for _, line := range script {
		if err := s.WriteLine(t.Context(), []byte(line)); err != nil {
			break
		}
		if m := wire.Parse([]byte(line)); m.Kind == wire.Request && m.ID().Usable() {
			hear(m.ID())
		}
	}
	// Whatever is still due comes before the answer to this.
	last := script[min(1, len(script)-1)]
	if !rev.Facts().Stateless {
		last = `{"jsonrpc":"2.0","id":"last","method":"ping"}`
	}
	s.WriteLine(t.Context(), []byte(last))
	hear(wire.Parse([]byte(last)).ID())
	s.CloseInput()
	ending := "it lives on"
	select {
	case <-s.Done():
		ending = s.Status()
	case <-time.After(2 * silence):
	}
	for {
		select {
		case l, ok := <-heard:
			if !ok {
				return said.String() + ending
			}
			said.WriteString(l + "\n")
		case <-time.After(silence):
			return said.String() + ending
		}
	}
}

// Every fault shows in the revisions that it names, and in no other. It need
// not show in a session that is not made for it, so that a fault which the
// script cannot provoke is an entry here to be widened.
func TestEachFaultDeviatesInItsRevisionsAndNowhereElse(t *testing.T) {
	for _, rev := range spec.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			t.Parallel()
			honest := play(t, server.Options{}, rev, patience)
			if again := play(t, server.Options{}, rev, patience); again != honest {
				t.Fatalf("the honest server is not the same twice:\n%s\n\n%s", honest, again)
			}
			for _, f := range All() {
				t.Run(f.Name, func(t *testing.T) {
					t.Parallel()
					wait := patience
					if f.In.Has(rev) {
						wait = silence
					}
					if deviates := play(t, f.Options(server.Options{}), rev, wait) != honest; deviates != f.In.Has(rev) {
						t.Errorf("%s deviates: %v, but it says %v", f.Name, deviates, f.In)
					}
				})
			}
		})
	}
}

func TestFaultsAreCompletelyDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		switch {
		case !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(f.Name):
			t.Errorf("the name %q is not in kebab case", f.Name)
		case seen[f.Name]:
			t.Errorf("two faults are named %s", f.Name)
		case f.Does == "" || f.In == 0 || f.Apply == nil:
			t.Errorf("%s is incomplete", f.Name)
		case len(f.Breaks) == 0 || len(f.CaughtBy) == 0:
			t.Errorf("%s breaks %v and is caught by %v", f.Name, f.Breaks, f.CaughtBy)
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
