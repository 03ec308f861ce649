package server

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// malformedLines are lines with the error that answers each.
var malformedLines = []struct {
	name, line string
	code       int    // 0: no answer
	id         string // "": unreadable
}{
	{"not JSON", `{not json}`, -32700, ""},
	{"cut off", `{"jsonrpc":"2.0","id":1,"method":`, -32700, ""},
	{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, ""},
	{"deep nesting", strings.Repeat("[", 100_000), -32700, ""},
	{"two messages", `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, -32700, ""},
	{"byte order mark", "\ufeff{}", -32700, ""},
	{"scalar", `42`, -32600, ""},
	{"empty object", `{}`, -32600, ""},
	{"no method", `{"jsonrpc":"2.0","id":5}`, -32600, "5"},
	{"no jsonrpc", `{"id":6,"method":"ping"}`, -32600, "6"},
	{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":"a","method":"ping"}`, -32600, `"a"`},
	{"jsonrpc as number", `{"jsonrpc":2.0,"id":6,"method":"ping"}`, -32600, "6"},
	{"method as number", `{"jsonrpc":"2.0","id":7,"method":5}`, -32600, "7"},
	{"method as number, no id", `{"jsonrpc":"2.0","method":5}`, -32600, ""},
	{"Method", `{"jsonrpc":"2.0","id":7,"Method":"ping"}`, -32600, "7"},
	{"params as array", `{"jsonrpc":"2.0","id":8,"method":"tools/list","params":[]}`, -32602, "8"},
	{"params as string", `{"jsonrpc":"2.0","id":8,"method":"tools/list","params":"x"}`, -32600, "8"},
	{"params null", `{"jsonrpc":"2.0","id":8,"method":"tools/list","params":null}`, -32600, "8"},
	{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, ""},
	{"id fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, ""},
	{"id boolean", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600, ""},
	{"id object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, ""},
	{"id twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, -32600, ""},
	{"method twice", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, -32600, "1"},
	{"method and result", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, -32600, "1"},
	{"blank", `   `, 0, ""},
	{"unknown notification", `{"jsonrpc":"2.0","method":"notifications/unheard-of"}`, 0, ""},
	{"ill-typed notification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`, 0, ""},
	{"cancellation without params", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, 0, ""},
	{
		"cancellation of null",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`, 0, "",
	},
	{
		"cancellation of an unknown request",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}`, 0, "",
	},
	{"notification without jsonrpc", `{"method":"notifications/initialized"}`, 0, ""},
	{"request as notification", `{"jsonrpc":"2.0","method":"ping"}`, 0, ""},
	{"unexpected result", `{"jsonrpc":"2.0","id":777,"result":{}}`, 0, ""},
	{"unexpected error", `{"jsonrpc":"2.0","id":777,"error":{"code":1,"message":"x"}}`, 0, ""},
}

func TestMalformedLines(t *testing.T) {
	for _, c := range malformedLines {
		t.Run(c.name, func(t *testing.T) {
			eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
				p := openSession(t, rev, "{}", Options{})
				barrier, id := p.barrier()
				p.send("%s\n%s", c.line, barrier)
				m := p.nextMessage()
				if c.code == 0 {
					if !m.ID().Equal(id) {
						t.Fatalf("the line was answered with %s", m.Raw)
					}
					wantResult(t, m)
					return
				}
				wantCode(t, m, c.code)
				want := c.id
				if want == "" && nullIDRevisions.Has(rev) {
					want = "null"
				}
				if got := m.ID().Raw; got != want {
					t.Errorf("the error has the id %q, want %q", got, want)
				}
				wantResult(t, p.responseTo(id))
			})
		})
	}
}

func TestRefusesLongLineAndServesNext(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, "{}", Options{})
	long := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 20<<20) + `"}}`
	go p.stream.WriteLine(t.Context(), []byte(long))
	wantCode(t, p.nextMessage(), -32700)
	wantResult(t, p.request("ping"))
}

func TestEchoesIDs(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		for _, id := range []string{
			`1`, `"1"`, `""`, `0`, `-1`, `9007199254740993`, `123456789012345678901234567890`, `1.0`, `1e2`,
			`"\u0061\/é<>&"`, `"` + strings.Repeat("k", 1000) + `"`,
		} {
			p.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, rev.Facts().BarrierMethod, p.params("{}"))
			if m := wantResult(t, p.nextMessage()); m.ID().Raw != id {
				t.Errorf("the answer to id %s has the id %s", id, m.ID().Raw)
			}
		}
	})
}

func TestRefusesUnknownMethods(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		for _, method := range []string{
			"no/such", "", "PING", "tools/List", "rpc.discover", "constructor", "tasks/update",
			"notifications/initialized",
		} {
			m := p.request(method)
			wantCode(t, m, -32601)
			if m.Error().Get("message").String() == "" {
				t.Errorf("%q: the error has no message", method)
			}
		}
	})
}

// The methods of a revision are those of its schema.
func TestServesMethodsOfRevisionOnly(t *testing.T) {
	var union []string
	for _, rev := range spec.Revisions() {
		union = append(union, rev.Facts().ClientRequests...)
	}
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		has := map[string]bool{}
		for _, method := range rev.Facts().ClientRequests {
			has[method] = true
		}
		for _, method := range union {
			if method == "subscriptions/listen" && has[method] {
				continue // is not answered until it ends
			}
			m := p.request(method)
			if got, _ := m.ErrorCode(); (got == -32601) == has[method] {
				t.Errorf("the answer to %s is %s, and the revision has it: %v", method, m.Raw, has[method])
			}
		}
	})
}

func TestRefusesDuplicateIDInFlight(t *testing.T) {
	t.Parallel()
	p := openSession(t, spec.V2025_11_25, "{}", Options{})
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stocktake","arguments":` +
		`{"duration_ms":500}}}`
	p.send("%s\n%s", call, call)
	wantCode(t, p.nextMessage(), -32600)
	wantResult(t, p.nextMessage())
}

func TestRefusesArraysWithoutBatches(t *testing.T) {
	eachRevision(t, spec.Every&^spec.Only(spec.V2025_03_26), func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		for _, line := range []string{
			`[]`, `[1]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
		} {
			barrier, id := p.barrier()
			p.send("%s\n%s", line, barrier)
			m := p.nextMessage()
			wantCode(t, m, -32600)
			if m.ID().IsPresent() && !m.ID().IsNull() {
				t.Errorf("%s: the error has the id %s", line, m.ID())
			}
			if m := p.nextMessage(); !m.ID().Equal(id) {
				t.Errorf("%s: a second answer: %s", line, m.Raw)
			}
		}
	})
}

func TestBatches(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"two requests", `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"2","method":"ping"}]`,
			`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"2","result":{}}]`},
		{"a notification between",
			`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},` +
				`{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
			`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`},
		{"empty", `[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"The batch is empty"}}`},
		{
			"notifications only",
			`[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","method":"notifications/y"}]`, ``,
		},
		{"responses only", `[{"jsonrpc":"2.0","id":7,"result":{}}]`, ``},
		{
			"no requests", `[1,[]]`,
			`[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,` +
				`"message":"Message a message is an object, not a number"}},` +
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"A batch holds no batches"}}]`,
		},
		{
			"initialize inside", `[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`,
			`[{"jsonrpc":"2.0","id":1,"error":{"code":-32600,` +
				`"message":"The initialize request is not part of a batch"}}]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := openSession(t, spec.V2025_03_26, "{}", Options{})
			barrier, id := p.barrier()
			p.send("%s\n%s", c.line, barrier)
			if c.want == "" {
				if m := p.nextMessage(); !m.ID().Equal(id) {
					t.Errorf("the line was answered with %s", m.Raw)
				}
				return
			}
			got := p.nextLine()
			wantSameJSON(t, `{"x":`+got+`}`, `{"x":`+c.want+`}`)
		})
	}
}

func TestAnswersBatchWhenLastRequestEnds(t *testing.T) {
	t.Parallel()
	p := openSession(t, spec.V2025_03_26, "{}", Options{})
	p.send(
		`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
		callParams("stocktake", `{"duration_ms":500}`),
	)
	wantResult(t, p.request("ping")) // the batch does not block
	m := p.nextMessage()
	if m.Kind != wire.Batch || len(m.Elements()) != 2 {
		t.Errorf("the answer to the batch is %s", m.Raw)
	}
}
