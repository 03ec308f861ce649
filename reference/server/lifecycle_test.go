package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestNegotiatesVersion(t *testing.T) {
	for _, c := range []struct {
		speaks          spec.Set
		requested, want string
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
		p := startServer(t, Options{Revisions: c.speaks})
		got := wantResult(t, p.initialize(c.requested)).Result().Get("protocolVersion").String()
		if got != c.want {
			t.Errorf("a server of %v offers %q for %q, want %q", c.speaks, got, c.requested, c.want)
		}
	}
}

func TestInitializeResultPerRevision(t *testing.T) {
	for rev, want := range map[spec.Revision][2]string{
		spec.V2024_11_05: {"name version", "logging prompts resources tools"},
		spec.V2025_03_26: {"name version", "completions logging prompts resources tools"},
		spec.V2025_06_18: {"name title version", "completions logging prompts resources tools"},
		spec.V2025_11_25: {
			"description icons name title version websiteUrl", "completions logging prompts resources tasks tools",
		},
	} {
		p := startServer(t, Options{})
		r := wantResult(t, p.initialize(string(rev))).Result()
		if got := memberNames(t, r.Get("serverInfo").Raw); got != want[0] {
			t.Errorf("%s: serverInfo has %s, want %s", rev, got, want[0])
		}
		if got := memberNames(t, r.Get("capabilities").Raw); got != want[1] {
			t.Errorf("%s: capabilities has %s, want %s", rev, got, want[1])
		}
		if got := memberNames(t, r.Raw); got != "capabilities instructions protocolVersion serverInfo" {
			t.Errorf("%s: the result has %s", rev, got)
		}
	}
}

func TestRefusesInitializeWithInvalidParams(t *testing.T) {
	p := startServer(t, Options{})
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
		wantCode(t, p.nextMessage(), -32602)
	}
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	wantCode(t, p.nextMessage(), -32602)
	wantResult(t, p.initialize("2025-06-18"))
}

func TestServesOnlyPingBeforeInitialize(t *testing.T) {
	for _, speaks := range []spec.Set{spec.Every, spec.Handshake} {
		p := startServer(t, Options{Revisions: speaks})
		wantResult(t, p.request("ping"))
		for _, method := range []string{"tools/list", "resources/read", "logging/setLevel"} {
			wantCode(t, p.request(method), -32600)
		}
		wantCode(t, p.request("no/such"), -32601)
		wantResult(t, p.initialize("2025-06-18"))
		wantResult(t, p.request("tools/list"))
	}
}

func TestRefusesSecondInitialize(t *testing.T) {
	p := openSession(t, spec.V2025_06_18, "{}", Options{})
	wantCode(t, p.initialize("2024-11-05"), -32600)
	if m := p.request("tools/list"); !m.Result().Get("tools.0.title").Exists() {
		t.Errorf("the session does not follow 2025-06-18 any more: %s", m.Raw)
	}
}

func TestStatelessOnlyServerNamesVersionsToInitialize(t *testing.T) {
	p := startServer(t, Options{Revisions: spec.Stateless})
	m := p.initialize("2025-11-25")
	wantCode(t, m, -32602)
	if !strings.Contains(m.Error().Get("message").String(), "2026-07-28") ||
		m.Error().Get("data.supported").Raw != `["2026-07-28"]` {
		t.Errorf("the error does not name 2026-07-28: %s", m.Raw)
	}
	wantCode(t, p.request("ping"), -32602)
	wantCode(t, p.request("server/discover"), -32602)
	p.revision = spec.V2026_07_28
	wantResult(t, p.request("server/discover"))
}

func TestHandshakeOnlyServerRefusesStatelessRequests(t *testing.T) {
	p := startServer(t, Options{Revisions: spec.Handshake})
	p.revision = spec.V2026_07_28
	wantCode(t, p.request("server/discover"), -32601)
	wantCode(t, p.request("tools/list"), -32600)
	wantResult(t, p.initialize("2025-06-18"))
	if m := p.request("tools/list"); m.Result().Get("resultType").Exists() {
		t.Errorf("the answer follows 2026-07-28: %s", m.Raw)
	}
}

func TestServesBothEras(t *testing.T) {
	p := openSession(t, spec.V2025_03_26, "{}", Options{})
	handshake := wantResult(t, p.request("tools/list"))
	p.revision = spec.V2026_07_28
	stateless := wantResult(t, p.request("tools/list"))
	p.revision = spec.V2025_03_26
	if handshake.Result().Get("resultType").Exists() ||
		stateless.Result().Get("resultType").String() != "complete" {
		t.Errorf("the eras are mixed: %s and %s", handshake.Raw, stateless.Raw)
	}
	wantResult(t, p.request("ping"))
}

func TestChecksPerRequestFields(t *testing.T) {
	const (
		version      = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
		capabilities = `"io.modelcontextprotocol/clientCapabilities":{}`
		required     = version + `,` + capabilities
	)
	p := startServer(t, Options{})
	for _, c := range []struct {
		params string
		code   int // 0: a result
	}{
		{`{"_meta":{` + required + `}}`, 0},
		{
			`{"_meta":{` + required + `,"io.modelcontextprotocol/clientInfo":{"name":"a","version":"b"},` +
				`"io.modelcontextprotocol/logLevel":"debug","progressToken":5,"com.example/x":1}}`,
			0,
		},
		{`{}`, -32602},
		{`{"_meta":{}}`, -32602},
		{`{"_meta":[]}`, -32602},
		{`{"_meta":{` + version + `}}`, -32602},
		{`{"_meta":{` + capabilities + `}}`, -32602},
		{`{"_meta":{"io.modelcontextprotocol/protocolVersion":5,` + capabilities + `}}`, -32602},
		{`{"_meta":{` + version + `,"io.modelcontextprotocol/clientCapabilities":[]}}`, -32602},
		{`{"_meta":{` + version + `,"io.modelcontextprotocol/clientCapabilities":{"sampling":true}}}`, -32602},
		{`{"_meta":{` + required + `,"io.modelcontextprotocol/clientInfo":{"name":"a"}}}`, -32602},
		{`{"_meta":{` + required + `,"io.modelcontextprotocol/logLevel":"verbose"}}`, -32602},
		{`{"_meta":{` + required + `,"progressToken":1.5}}`, -32602},
		{`{"_meta":{` + required + `,"progressToken":null}}`, -32602},
	} {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":%s}`, c.params)
		m := p.nextMessage()
		if got, _ := m.ErrorCode(); got != c.code {
			t.Errorf("the answer to %s is %s, want code %d", c.params, m.Raw, c.code)
		}
	}
}

// unsupportedVersionFormat is a stateless request with an id and a version.
const unsupportedVersionFormat = `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`

func TestRefusesUnsupportedVersionPerRequest(t *testing.T) {
	p := startServer(t, Options{})
	for _, version := range []string{"1900-01-01", "2025-06-18", ""} {
		p.send(unsupportedVersionFormat, 1, version)
		m := p.nextMessage()
		wantCode(t, m, -32022)
		if got := m.Error().Get("data.requested").String(); got != version {
			t.Errorf("data.requested is %q, want %q", got, version)
		}
		supported := m.Error().Get("data.supported").Raw
		if !strings.Contains(supported, `"2026-07-28"`) || version != "" && strings.Contains(supported, version) {
			t.Errorf("for the version %q data.supported is %s", version, supported)
		}
	}
	p.revision = spec.V2026_07_28
	wantResult(t, p.request("tools/list"))
}

func TestDiscover(t *testing.T) {
	p := startServer(t, Options{Revisions: spec.Since(spec.V2025_11_25)})
	p.revision = spec.V2026_07_28
	r := wantResult(t, p.request("server/discover")).Result()
	const members = "_meta cacheScope capabilities instructions resultType supportedVersions ttlMs"
	if got := memberNames(t, r.Raw); got != members {
		t.Errorf("the result has %s, want %s", got, members)
	}
	if got := r.Get("supportedVersions").Raw; got != `["2026-07-28","2025-11-25"]` {
		t.Errorf("supportedVersions is %s", got)
	}
	if got := r.Get(`_meta.io\.modelcontextprotocol/serverInfo.version`).String(); got == "" {
		t.Errorf("the result does not name the server: %s", r.Raw)
	}
}

func TestUndeclaredCapabilitiesHaveNoMethods(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{ChangeFeatures: func(l *Features) { l.Capabilities = Object{} }})
		for _, method := range rev.Facts().ClientRequests {
			switch method {
			case "initialize", "ping", "server/discover", "subscriptions/listen":
				continue
			}
			wantCode(t, p.request(method), -32601)
		}
		wantResult(t, p.request(rev.Facts().BarrierMethod))
	})
}

func TestRefusesHugeNumbers(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, "{}", Options{})
	for _, n := range []string{
		"1e400", "1e99999", "1e999999999", "-1e999999999", "1e-999999999", strings.Repeat("9", 5000),
	} {
		wantToolError(t, p.request("tools/call", callParams("search_catalogue", `{"query":"x","limit":`+n+`}`)))
		p.send(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, n)
		p.nextMessage()
	}
	wantResult(t, p.request("ping"))
}

// A number of a megabyte is refused anywhere in a message, without costly arithmetic.
func TestRefusesLongNumbersAtOnce(t *testing.T) {
	long := strings.Repeat("9", 1<<20)
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		began := time.Now()
		for _, members := range []string{
			callParams("search_catalogue", `{"query":"x","limit":`+long+`}`),
			callParams("search_catalogue", `{"query":["x",{"y":-`+long+`}]}`),
			callParams("search_catalogue", `{"query":"x"}`) + `,"_meta":{"progressToken":` + long + `}`,
		} {
			p.send(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{%s}}`, members)
			m := p.nextMessage()
			if wantCode(t, m, spec.InvalidParams); !strings.Contains(m.Error().Get("message").String(), "number") {
				t.Errorf("the error does not name the number: %s", m.Error())
			}
		}
		p.send(`{"jsonrpc":"2.0","id":%s,"method":"x/y"}`, long)
		wantCode(t, p.nextMessage(), spec.MethodNotFound)
		if took := time.Since(began); took > testTimeout/2 {
			t.Errorf("the refusals took %s", took)
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
		if err := s.WriteLine(b.Context(), fmt.Appendf(nil, initializeFormat, "2025-11-25", "{}")); err != nil {
			b.Fatal(err)
		}
		if _, err := s.ReadLine(); err != nil {
			b.Fatal(err)
		}
		s.Kill()
	}
}
