package server

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func TestPagesHaveStableCursors(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p, other := openSession(t, rev, "{}", Options{}), openSession(t, rev, "{}", Options{})
		for method, member := range listMembers {
			first := wantResult(t, p.request(method)).Result()
			again := wantResult(t, p.request(method)).Result()
			if first.Get(member).Raw != again.Get(member).Raw {
				t.Errorf("%s: two requests for the first page differ", method)
			}
			cursor := `"cursor":` + first.Get("nextCursor").Raw
			second := wantResult(t, p.request(method, cursor)).Result()
			otherSecond := wantResult(t, other.request(method, cursor)).Result()
			if otherSecond.Get(member).Raw != second.Get(member).Raw {
				t.Errorf("%s: the cursor names another page on another connection", method)
			}
			isLong := method == "tools/list" || method == "resources/list"
			if isLong && !second.Get("nextCursor").Exists() {
				t.Errorf("%s has no third page", method)
			}
			seen := map[string]bool{}
			for _, item := range p.listAll(method, member) {
				key := item.Get("name").String() + item.Get("uri").String()
				if seen[key] {
					t.Errorf("%s lists %s twice", method, key)
				}
				seen[key] = true
			}
			for _, invalid := range []string{
				`"mcpcheck-invalid"`, `""`, `5`, `null`, `["x"]`, `"` + first.Get("nextCursor").String() + `x"`,
			} {
				wantCode(t, p.request(method, `"cursor":`+invalid), -32602)
			}
		}
		// A cursor belongs to its list.
		foreign := wantResult(t, p.request("tools/list")).Result().Get("nextCursor").Raw
		wantCode(t, p.request("prompts/list", `"cursor":`+foreign), -32602)
	})
}

func TestToolMembersPerRevision(t *testing.T) {
	for rev, want := range map[spec.Revision]string{
		spec.V2024_11_05: "description inputSchema name",
		spec.V2025_03_26: "annotations description inputSchema name",
		spec.V2025_06_18: "annotations description inputSchema name outputSchema title",
		spec.V2025_11_25: "annotations description icons inputSchema name outputSchema title",
		spec.V2026_07_28: "annotations description icons inputSchema name outputSchema title",
	} {
		p := openSession(t, rev, "{}", Options{})
		for _, tool := range p.listAll("tools/list", "tools") {
			if tool.Get("name").String() == "search_catalogue" {
				if got := memberNames(t, tool.Raw); got != want {
					t.Errorf("%s: the members are %s, want %s", rev, got, want)
				}
			}
		}
	}
}

func TestContentTypesPerRevision(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		got := map[string]bool{}
		r := wantResult(t, p.request("tools/call", callParams("show_exhibits", `{}`))).Result()
		for _, block := range r.Get("content").Array() {
			got[block.Get("type").String()] = true
			if data := block.Get("data"); data.Exists() {
				if b, err := base64.StdEncoding.DecodeString(data.String()); err != nil || len(b) == 0 {
					t.Errorf("the data of a block of type %s cannot be decoded: %v", block.Get("type"), err)
				}
			}
		}
		for _, contentType := range rev.Facts().ContentTypes {
			if !got[contentType] {
				t.Errorf("no block has the type %s", contentType)
			}
			delete(got, contentType)
		}
		if len(got) > 0 {
			t.Errorf("blocks have types of other revisions: %v", got)
		}
	})
}

func TestStructuredResultsMatchSchemaAndText(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		output := map[string]string{}
		for _, tool := range p.listAll("tools/list", "tools") {
			output[tool.Get("name").String()] = tool.Get("outputSchema").Raw
		}
		for _, name := range []string{"search_catalogue", "new_arrivals", "borrow_book", "return_book"} {
			r := wantResult(t, p.request("tools/call", callParams(name, toolArguments[name]))).Result()
			value := r.Get("structuredContent")
			if (output[name] != "") != value.Exists() || value.Exists() != spec.Since(spec.V2025_06_18).Has(rev) {
				t.Errorf("%s: outputSchema %q, structuredContent %q", name, output[name], value.Raw)
				continue
			}
			if !value.Exists() {
				continue
			}
			if value.Raw != r.Get("content.0.text").String() {
				t.Errorf("%s: the text is %s, the value %s", name, r.Get("content.0.text"), value.Raw)
			}
			if !anyOutputRevisions.Has(rev) && !value.IsObject() {
				t.Errorf("%s: structuredContent is %s", name, wire.TypeName(value))
			}
			schema, err := decode(output[name])
			if err != nil {
				t.Fatal(err)
			}
			compiled, err := compile(schema)
			if err != nil {
				t.Fatal(err)
			}
			o, _ := decode(`{"v":` + value.Raw + `}`)
			if err := compiled.Validate(o["v"]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestReportsInvalidArgumentsPerRevision(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		for _, members := range []string{
			`"name":"search_catalogue"`,
			callParams("search_catalogue", `{"query":5}`), callParams("search_catalogue", `{"query":""}`),
			callParams("search_catalogue", `{"query":"x","limit":51}`),
			callParams("search_catalogue", `{"query":"x","limit":1.5}`),
			callParams("search_catalogue", `{"query":"x","extra":1}`), callParams("opening_hours", `{"x":1}`),
			callParams("check_shelfmark", `{"mark":["A",41]}`),
			callParams("check_shelfmark", `{"mark":["A",4],"stack":true}`),
		} {
			m := p.request("tools/call", members)
			if !spec.Since(spec.V2025_11_25).Has(rev) {
				wantCode(t, m, -32602)
			} else {
				wantToolError(t, m)
			}
		}
		for _, members := range []string{
			``, `"name":5`, `"name":null`, `"name":"opening_hours","arguments":[]`,
			`"name":"opening_hours","arguments":null`, `"name":"no_such"`, `"name":"OPENING_HOURS"`,
			`"name":"reserve_seat"`,
		} {
			wantCode(t, p.request("tools/call", members), -32602)
		}
	})
}

func TestFailingTools(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		r := wantResult(t, p.request("tools/call", callParams("scan_card", `{}`))).Result()
		if !r.Get("isError").Bool() || r.Get("content.0.text").String() == "" {
			t.Errorf("the result of scan_card is %s", r.Raw)
		}
		m := p.request("tools/call", callParams("reset_stamp", `{}`))
		wantCode(t, m, -32603)
		if strings.Contains(string(m.Raw), "jammed") {
			t.Errorf("the error holds the text of the panic: %s", m.Raw)
		}
		wantResult(t, p.request(rev.Facts().BarrierMethod))
	})
}

func TestSlowToolReportsProgressWithoutBlocking(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		for _, token := range []string{`"walk"`, `12345678901234567890`} {
			call := callParams("stocktake", `{"duration_ms":400,"steps":4}`)
			params := p.paramsWithMeta("{}", call, `"progressToken":`+token)
			barrier, id := p.barrier()
			p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}%s%s`, params, "\n", barrier)
			steps, barrierAnswered := 0.0, false
			for {
				m := p.nextMessage()
				if m.IsResponse() {
					wantResult(t, m)
					if m.ID().Equal(id) {
						barrierAnswered = true
						continue
					}
					break
				}
				steps++
				if m.Method() != "notifications/progress" || m.Params().Get("progressToken").Raw != token ||
					m.Params().Get("progress").Float() != steps {
					t.Errorf("progress %v is %s", steps, m.Raw)
				}
				if got := m.Params().Get("message").Exists(); got != (rev != spec.V2024_11_05) {
					t.Errorf("progress has a message: %v", got)
				}
			}
			if steps != 4 || !barrierAnswered {
				t.Errorf("%v progress notifications; another request was answered meanwhile: %v", steps,
					barrierAnswered)
			}
		}
		barrier, _ := p.barrier()
		p.send("%s", barrier)
		if m := p.nextMessage(); m.Kind != wire.Result {
			t.Errorf("after the result received %s", m.Raw)
		}
	})
}

func TestSendsNothingForCancelledCall(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		for _, id := range []string{`1`, `"one"`} {
			p.send(
				`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}`, id,
				p.params("{}", callParams("stocktake", `{"duration_ms":5000,"steps":1}`)),
			)
			p.send(
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"enough"}}`,
				id,
			)
			barrier, want := p.barrier()
			p.send("%s", barrier)
			if m := p.nextMessage(); !m.ID().Equal(want) {
				t.Errorf("after the cancellation received %s", m.Raw)
			}
		}
		// The id can be used again, and a late cancellation is ignored.
		p.send(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`,
			p.params("{}", callParams("opening_hours", `{}`)),
		)
		wantResult(t, p.nextMessage())
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		wantResult(t, p.request(rev.Facts().BarrierMethod))
	})
}

func TestLogLevelFiltersMessages(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		logged := func(level string) int {
			t.Helper()
			call := callParams("read_desk_log", `{}`)
			params := p.params("{}", call)
			switch {
			case rev.Facts().Stateless && level != "":
				params = p.paramsWithMeta("{}", call, `"io.modelcontextprotocol/logLevel":"`+level+`"`)
			case level != "":
				wantResult(t, p.request("logging/setLevel", `"level":"`+level+`"`))
			}
			p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, params)
			n := 0
			for m := p.nextMessage(); m.Kind != wire.Result; m = p.nextMessage() {
				if m.Method() != "notifications/message" || !m.Params().Get("data").Exists() {
					t.Errorf("received %s, want a log message", m.Raw)
				}
				n++
			}
			return n
		}
		withoutLevel := 5 // warning and above
		if rev.Facts().Stateless {
			withoutLevel = 0
		}
		for level, want := range map[string]int{"debug": 8, "info": 7, "error": 4, "emergency": 1} {
			if got := logged(level); got != want {
				t.Errorf("at the level %s: %d messages, want %d", level, got, want)
			}
		}
		p = openSession(t, rev, "{}", Options{})
		if got := logged(""); got != withoutLevel {
			t.Errorf("without a level: %d messages, want %d", got, withoutLevel)
		}
		if !rev.Facts().Stateless {
			for _, invalid := range []string{`"level":"verbose"`, `"level":"INFO"`, `"level":3`, ``} {
				wantCode(t, p.request("logging/setLevel", invalid), -32602)
			}
		}
	})
}
