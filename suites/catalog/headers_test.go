package catalog

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Each schema breaks the rules that stand beside it, and no others: what is one
// mistake is told once.
func TestAnnotationsAreJudged(t *testing.T) {
	property := func(p string) string { return `{"type":"object","properties":{"a":` + p + `}}` }
	for schema, want := range map[string][]string{
		property(`{"type":"string","x-mcp-header":"A!#$%&'*+-.^_|~9"}`):                                                                               nil,
		property(`{"type":["string","null"],"x-mcp-header":"A"}`):                                                                                     nil,
		property(`{"x-mcp-header":"A"}`):                                                                                                              nil,
		property(`{"type":"object","properties":{"x-mcp-header":{}}}`):                                                                                nil,
		property(`{"type":"string","default":{"x-mcp-header":""}}`):                                                                                   nil,
		property(`{"type":"integer","maximum":1e300,"x-mcp-header":"A"}`):                                                                             nil,
		property(`{"type":"string","x-mcp-header":""}`):                                                                                               {"empty"},
		property(`{"type":"string","x-mcp-header":"a b"}`):                                                                                            {"token"},
		property(`{"type":"string","x-mcp-header":"a:"}`):                                                                                             {"token"},
		property(`{"type":"string","x-mcp-header":["a"]}`):                                                                                            {"token"},
		property(`{"type":"string","x-mcp-header":"a\u007f"}`):                                                                                        {"control"},
		property(`{"type":"string","x-mcp-header":"a\tb"}`):                                                                                           {"control"},
		property(`{"type":"number","x-mcp-header":"A"}`):                                                                                              {"type"},
		property(`{"type":["string","array"],"x-mcp-header":"A"}`):                                                                                    {"type"},
		property(`{"type":"integer","enum":[1,-9007199254740992],"x-mcp-header":"A"}`):                                                                {"range"},
		property(`{"type":"integer","const":9007199254740991,"x-mcp-header":"A"}`):                                                                    nil,
		property(`{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`):                                                                     {"reachable"},
		property(`{"oneOf":[{"type":"string","x-mcp-header":"A"},{"type":"array","x-mcp-header":"a"}]}`):                                              {"reachable"},
		property(`{"type":"object","additionalProperties":{"type":"string","x-mcp-header":"A"}}`):                                                     {"reachable"},
		property(`{"type":"array","prefixItems":[{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}]}`):                                        {"reachable"},
		`{"type":"object","x-mcp-header":"A"}`:                                                                                                        {"reachable"},
		`{"type":"object","then":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`:                                                          {"reachable"},
		`{"type":"object","$defs":{"a":{"type":"string","x-mcp-header":"A"}}}`:                                                                        {"reachable"},
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Key"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"KEY"}}}}}`: {"unique"},
	} {
		transcript := wire.TranscriptOf([]wire.Frame{
			{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)},
			{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`)},
			{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`)},
			{From: wire.Server, Raw: fmt.Appendf(nil,
				`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t","inputSchema":%s}]}}`, schema)},
		})
		var got []string
		for _, c := range judgesOf("headers.annotation.") {
			if o := check.Look(c, spec.V2026_07_28, transcript); o.State == check.Violated || o.State == check.Broken {
				got = append(got, c.ID[len("headers.annotation."):])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s breaks %q, want %q", schema, got, want)
		}
	}
}
