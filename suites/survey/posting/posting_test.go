package posting

import (
	"maps"
	"testing"

	"github.com/tidwall/gjson"
)

// A header repeats an argument that is there and has a primitive type.
func TestCallPostingRepeatsPrimitiveArguments(t *testing.T) {
	tool := gjson.Parse(`{"name":"look","inputSchema":{"type":"object","properties":{
		"a":{"type":"string","x-mcp-header":"A"},"b":{"type":["integer","null"],"x-mcp-header":"B"},
		"c":{"type":"array","x-mcp-header":"C"},"d":{"type":"object","properties":{
			"e":{"type":"boolean","x-mcp-header":"E"}}}}}}`)
	for args, want := range map[string]map[string]string{
		`{}`: {}, `{"a":"x"}`: {"Mcp-Param-A": "x"}, `{"a":"","b":null}`: {"Mcp-Param-A": ""},
		`{"b":7,"c":["x"],"d":{"e":true}}`: {"Mcp-Param-B": "7", "Mcp-Param-E": "true"},
	} {
		p := CallPosting(tool, args)
		if !maps.Equal(p.header, want) || p.Name != "look" || p.Method != "tools/call" {
			t.Errorf("%s: %v, want %v", args, p.header, want)
		}
	}
}
