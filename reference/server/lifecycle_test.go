package server

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func initializeLine(id int, version string) string {
	return `{"jsonrpc":"2.0","id":` + wire.IntID(int64(id)).Raw + `,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
}

func TestVersionsAreNegotiated(t *testing.T) {
	for _, c := range []struct {
		speaks      spec.Set
		asked, want string
	}{
		{spec.Every, "2024-11-05", "2024-11-05"},
		{spec.Every, "2025-03-26", "2025-03-26"},
		{spec.Every, "2025-06-18", "2025-06-18"},
		{spec.Every, "2025-11-25", "2025-11-25"},
		{spec.Every, "2026-07-28", "2025-11-25"},
		{spec.Every, "1999-01-01", "2025-11-25"},
		{spec.Every, "", "2025-11-25"},
		{spec.Handshake, "2999-01-01", "2025-11-25"},
		{spec.Only(spec.V2024_11_05), "2025-06-18", "2024-11-05"},
	} {
		p := start(t, Options{Revisions: c.speaks})
		p.send("%s", initializeLine(1, c.asked))
		if got := wantResult(t, p.next()).Result().Get("protocolVersion").String(); got != c.want {
			t.Errorf("%v asked for %q offers %q, want %q", c.speaks, c.asked, got, c.want)
		}
	}
}

func TestInitializeAnswersWithWhatTheRevisionKnows(t *testing.T) {
	for rev, want := range map[spec.Revision][2]string{
		spec.V2024_11_05: {"name version", "logging prompts resources tools"},
		spec.V2025_03_26: {"name version", "completions logging prompts resources tools"},
		spec.V2025_06_18: {"name title version", "completions logging prompts resources tools"},
		spec.V2025_11_25: {"description icons name title version websiteUrl", "completions logging prompts resources tasks tools"},
	} {
		p := start(t, Options{})
		p.send("%s", initializeLine(1, string(rev)))
		r := wantResult(t, p.next()).Result()
		if got := keys(t, r.Get("serverInfo").Raw); got != want[0] {
			t.Errorf("%s: serverInfo has %s, want %s", rev, got, want[0])
		}
		if got := keys(t, r.Get("capabilities").Raw); got != want[1] {
			t.Errorf("%s: capabilities are %s, want %s", rev, got, want[1])
		}
		if got := keys(t, r.Raw); got != "capabilities instructions protocolVersion serverInfo" {
			t.Errorf("%s: the result has %s", rev, got)
		}
	}
}

// keys returns the member names of an object, sorted, as one text.
func keys(t *testing.T, raw string) string {
	t.Helper()
	o := unmarshal(t, raw)
	var names []string
	for k := range o {
		names = append(names, k)
	}
	return strings.Join(sorted(names), " ")
}

func TestInitializeWithoutItsParamsIsRefusedAndMayBeRepaired(t *testing.T) {
	p := start(t, Options{})
	for _, params := range []string{
		`{}`,
		`{"capabilities":{},"clientInfo":{"name":"t","version":"1"}}`,
		`{"protocolVersion":9999,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}`,
		`{"protocolVersion":"2025-06-18","clientInfo":{"name":"t","version":"1"}}`,
		`{"protocolVersion":"2025-06-18","capabilities":[],"clientInfo":{"name":"t","version":"1"}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{"roots":true},"clientInfo":{"name":"t","version":"1"}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{}}`,
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t"}}`,
	} {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":%s}`, params)
		if m := p.next(); code(t, m) != -32602 {
			t.Errorf("%s: %s", params, m.Raw)
		}
	}
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	wantCode(t, p.next(), -32602)
	p.send("%s", initializeLine(2, "2025-06-18"))
	wantResult(t, p.next())
}

func TestBeforeInitializeOnlyPingIsServed(t *testing.T) {
	for _, speaks := range []spec.Set{spec.Every, spec.Handshake} {
		p := start(t, Options{Revisions: speaks})
		wantResult(t, p.ask("ping"))
		for _, method := range []string{"tools/list", "resources/read", "logging/setLevel"} {
			wantCode(t, p.ask(method), -32600)
		}
		wantCode(t, p.ask("no/such"), -32601)
		p.send("%s", initializeLine(1, "2025-06-18"))
		wantResult(t, p.next())
		wantResult(t, p.ask("tools/list"))
	}
}

func TestASecondInitializeIsRefusedAndChangesNothing(t *testing.T) {
	p := open(t, spec.V2025_06_18, "{}", Options{})
	p.send("%s", initializeLine(1, "2024-11-05"))
	wantCode(t, p.next(), -32600)
	if m := p.ask("tools/list"); !m.Result().Get("tools.0.title").Exists() {
		t.Errorf("the session is not one of 2025-06-18 any more: %s", m.Raw)
	}
}

func TestAModernOnlyServerNamesItsVersionsToInitialize(t *testing.T) {
	p := start(t, Options{Revisions: spec.Stateless})
	p.send("%s", initializeLine(1, "2025-11-25"))
	m := p.next()
	wantCode(t, m, -32602)
	if !strings.Contains(m.Error().Get("message").String(), "2026-07-28") || m.Error().Get("data.supported").Raw != `["2026-07-28"]` {
		t.Errorf("the error does not name 2026-07-28: %s", m.Raw)
	}
	wantCode(t, p.ask("ping"), -32602)
	wantCode(t, p.ask("server/discover"), -32602)
	p.rev = spec.V2026_07_28
	wantResult(t, p.ask("server/discover"))
}

func TestAHandshakeOnlyServerKnowsNothingModern(t *testing.T) {
	p := start(t, Options{Revisions: spec.Handshake})
	p.rev = spec.V2026_07_28
	wantCode(t, p.ask("server/discover"), -32601)
	wantCode(t, p.ask("tools/list"), -32600)
	p.send("%s", initializeLine(1, "2025-06-18"))
	wantResult(t, p.next())
	if m := p.ask("tools/list"); m.Result().Get("resultType").Exists() {
		t.Errorf("it answers as 2026-07-28: %s", m.Raw)
	}
}

func TestBothErasAreServedSideBySide(t *testing.T) {
	p := open(t, spec.V2025_03_26, "{}", Options{})
	legacy := wantResult(t, p.ask("tools/list"))
	p.rev = spec.V2026_07_28
	modern := wantResult(t, p.ask("tools/list"))
	p.rev = spec.V2025_03_26
	if legacy.Result().Get("resultType").Exists() || modern.Result().Get("resultType").String() != "complete" {
		t.Errorf("the eras are mixed: %s and %s", legacy.Raw, modern.Raw)
	}
	wantResult(t, p.ask("ping"))
}

func TestPerRequestFieldsAreChecked(t *testing.T) {
	const version, capabilities = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`
	p := start(t, Options{})
	for _, c := range []struct {
		params string
		code   int // 0: a result
	}{
		{`{"_meta":{` + version + `,` + capabilities + `}}`, 0},
		{`{"_meta":{` + version + `,` + capabilities + `,"io.modelcontextprotocol/clientInfo":{"name":"a","version":"b"},"io.modelcontextprotocol/logLevel":"debug","progressToken":5,"com.example/x":1}}`, 0},
		{`{}`, -32602},
		{`{"_meta":{}}`, -32602},
		{`{"_meta":[]}`, -32602},
		{`{"_meta":{` + version + `}}`, -32602},
		{`{"_meta":{` + capabilities + `}}`, -32602},
		{`{"_meta":{"io.modelcontextprotocol/protocolVersion":5,` + capabilities + `}}`, -32602},
		{`{"_meta":{` + version + `,"io.modelcontextprotocol/clientCapabilities":[]}}`, -32602},
		{`{"_meta":{` + version + `,"io.modelcontextprotocol/clientCapabilities":{"sampling":true}}}`, -32602},
		{`{"_meta":{` + version + `,` + capabilities + `,"io.modelcontextprotocol/clientInfo":{"name":"a"}}}`, -32602},
		{`{"_meta":{` + version + `,` + capabilities + `,"io.modelcontextprotocol/logLevel":"verbose"}}`, -32602},
		{`{"_meta":{` + version + `,` + capabilities + `,"progressToken":1.5}}`, -32602},
		{`{"_meta":{` + version + `,` + capabilities + `,"progressToken":null}}`, -32602},
	} {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":%s}`, c.params)
		m := p.next()
		if got, _ := m.Code(); got != c.code {
			t.Errorf("%s: %s", c.params, m.Raw)
		}
	}
}

func TestAVersionThatIsNotSpokenIsRefusedForThatRequestAlone(t *testing.T) {
	p := start(t, Options{})
	for _, version := range []string{"1900-01-01", "2025-06-18", ""} {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`, version)
		m := p.next()
		wantCode(t, m, -32022)
		if got := m.Error().Get("data.requested").String(); got != version {
			t.Errorf("data.requested is %q, want %q", got, version)
		}
		supported := m.Error().Get("data.supported").Raw
		if !strings.Contains(supported, `"2026-07-28"`) || version != "" && strings.Contains(supported, version) {
			t.Errorf("asked for %q: supported are %s", version, supported)
		}
	}
	p.rev = spec.V2026_07_28
	wantResult(t, p.ask("tools/list"))
}

func TestDiscover(t *testing.T) {
	p := start(t, Options{Revisions: spec.Since(spec.V2025_11_25)})
	p.rev = spec.V2026_07_28
	r := wantResult(t, p.ask("server/discover")).Result()
	if got := keys(t, r.Raw); got != "_meta cacheScope capabilities instructions resultType supportedVersions ttlMs" {
		t.Errorf("the result has %s", got)
	}
	if got := r.Get("supportedVersions").Raw; got != `["2026-07-28","2025-11-25"]` {
		t.Errorf("supported are %s", got)
	}
	if got := r.Get(`_meta.io\.modelcontextprotocol/serverInfo.version`).String(); got == "" {
		t.Errorf("the server does not say what it is: %s", r.Raw)
	}
}

// What the library does not declare it does not serve.
func TestMethodsOfUndeclaredCapabilitiesAreNotFound(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := open(t, rev, "{}", Options{Library: func(l *Library) { l.Capabilities = Object{} }})
		for _, method := range rev.Facts().ClientRequests {
			switch method {
			case "initialize", "ping", "server/discover", "subscriptions/listen":
				continue
			}
			wantCode(t, p.ask(method), -32601)
		}
		wantResult(t, p.ask(rev.Facts().Barrier))
	})
}

func TestHugeNumbersAreRefusedAndSurvived(t *testing.T) {
	p := open(t, spec.V2025_11_25, "{}", Options{})
	for _, n := range []string{"1e400", "1e99999", "1e999999999", "-1e999999999", "1e-999999999", strings.Repeat("9", 5000)} {
		if m := p.ask("tools/call", call("search_catalogue", `{"query":"x","limit":`+n+`}`)); !m.Result().Get("isError").Bool() {
			t.Errorf("%.20s: %s", n, m.Raw)
		}
		p.send(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, n)
		p.next()
	}
	wantResult(t, p.ask("ping"))
}

// Who sends a number of a megabyte is told so, wherever it stands, and keeps
// nobody busy.
func TestEndlessNumbersAreRefusedAtOnce(t *testing.T) {
	endless := strings.Repeat("9", 1<<20)
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := open(t, rev, "{}", Options{})
		began := time.Now()
		for _, members := range []string{
			call("search_catalogue", `{"query":"x","limit":`+endless+`}`),
			call("search_catalogue", `{"query":["x",{"y":-`+endless+`}]}`),
			call("search_catalogue", `{"query":"x"}`) + `,"_meta":{"progressToken":` + endless + `}`,
		} {
			p.send(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{%s}}`, members)
			m := p.next()
			if wantCode(t, m, spec.InvalidParams); !strings.Contains(m.Error().Get("message").String(), "number") {
				t.Errorf("it is told %s", m.Error())
			}
		}
		p.send(`{"jsonrpc":"2.0","id":%s,"method":"x/y"}`, endless)
		wantCode(t, p.next(), spec.MethodNotFound)
		if took := time.Since(began); took > patience/2 {
			t.Errorf("it took %s", took)
		}
	})
}

func BenchmarkPing(b *testing.B) {
	s, err := Target("library", Options{}).Start(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Kill()
	for b.Loop() {
		if err := s.WriteLine(b.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err != nil {
			b.Fatal(err)
		}
		if _, err := s.ReadLine(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := Target("library", Options{}).Start(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := s.WriteLine(b.Context(), []byte(initializeLine(1, "2025-11-25"))); err != nil {
			b.Fatal(err)
		}
		if _, err := s.ReadLine(); err != nil {
			b.Fatal(err)
		}
		s.Kill()
	}
}
