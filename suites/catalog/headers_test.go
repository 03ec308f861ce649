package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Each schema breaks one rule or none, and one check reports it.
func TestDetectsInvalidHeaderAnnotations(t *testing.T) {
	property := func(p string) string { return `{"type":"object","properties":{"a":` + p + `}}` }
	for _, c := range []struct{ breaks, schema string }{
		{"", property(`{"type":"string","x-mcp-header":"A!#$%&'*+-.^_|~9"}`)},
		{"", property(`{"type":["string","null"],"x-mcp-header":"A"}`)},
		{"", property(`{"x-mcp-header":"A"}`)},
		{"", property(`{"type":"object","properties":{"x-mcp-header":{}}}`)},
		{"", property(`{"type":"string","default":{"x-mcp-header":""}}`)},
		{"", property(`{"type":"integer","maximum":1e300,"x-mcp-header":"A"}`)},
		{"empty", property(`{"type":"string","x-mcp-header":""}`)},
		{"token", property(`{"type":"string","x-mcp-header":"a b"}`)},
		{"token", property(`{"type":"string","x-mcp-header":"a:"}`)},
		{"token", property(`{"type":"string","x-mcp-header":["a"]}`)},
		{"control", property(`{"type":"string","x-mcp-header":"a\u007f"}`)},
		{"control", property(`{"type":"string","x-mcp-header":"a\tb"}`)},
		{"type", property(`{"type":"number","x-mcp-header":"A"}`)},
		{"type", property(`{"type":["string","array"],"x-mcp-header":"A"}`)},
		{"range", property(`{"type":"integer","enum":[1,-9007199254740992],"x-mcp-header":"A"}`)},
		{"", property(`{"type":"integer","const":9007199254740991,"x-mcp-header":"A"}`)},
		{"reachable", property(`{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`)},
		{"reachable", property(`{"oneOf":[{"type":"string","x-mcp-header":"A"},{"type":"array","x-mcp-header":"a"}]}`)},
		{"reachable", property(`{"type":"object","additionalProperties":{"type":"string","x-mcp-header":"A"}}`)},
		{
			"reachable",
			property(`{"type":"array","prefixItems":[{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}]}`),
		},
		{"reachable", `{"type":"object","x-mcp-header":"A"}`},
		{"reachable", `{"type":"object","then":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`},
		{"reachable", `{"type":"object","$defs":{"a":{"type":"string","x-mcp-header":"A"}}}`},
		{
			"unique",
			`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Key"},` +
				`"b":{"properties":{"c":{"type":"string","x-mcp-header":"KEY"}}}}}`,
		},
	} {
		transcript := wire.TranscriptOf([]wire.Frame{
			{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)},
			{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],` +
				`"capabilities":{"tools":{}}}}`)},
			{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`)},
			{From: wire.Server, Raw: fmt.Appendf(nil,
				`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t","inputSchema":%s}]}}`, c.schema)},
		})
		var got []string
		for _, judge := range judgesOf("headers.annotation.") {
			o := check.Judge(judge, spec.V2026_07_28, transcript)
			if o.State == check.Violated || o.State == check.Broken {
				got = append(got, judge.ID[len("headers.annotation."):])
			}
		}
		if strings.Join(got, " ") != c.breaks {
			t.Errorf("%s breaks %q, want %q", c.schema, got, c.breaks)
		}
	}
}
