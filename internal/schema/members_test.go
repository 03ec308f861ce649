package schema

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// Members are found by definition, so that free data with the same names is not
// included.
func TestMembersAreFoundByDefinition(t *testing.T) {
	for _, c := range []struct {
		rev           spec.Revision
		def, name, in string
		want          []string
	}{
		{spec.V2025_06_18, "CallToolResult", "_meta", `{"_meta":{},"structuredContent":{"_meta":1},"content":[
			{"type":"text","text":"","_meta":2},
			{"type":"resource","resource":{"uri":"a:b","text":"","_meta":3}},
			{"type":"video","_meta":4}]}`,
			[]string{"/_meta CallToolResult", "/content/0/_meta TextContent",
				"/content/1/resource/_meta TextResourceContents"}},
		{spec.V2024_11_05, "CallToolResult", "annotations",
			`{"content":[{"type":"text","text":"","annotations":{},"_meta":{}}]}`,
			[]string{"/content/0/annotations TextContent"}},
		{spec.V2025_11_25, "ListToolsResult", "annotations",
			`{"tools":[{"annotations":{},"inputSchema":{"properties":{"annotations":{}}}}]}`,
			[]string{"/tools/0/annotations Tool"}},
		{spec.V2026_07_28, "ListPromptsResult", "icons",
			`{"_meta":{"io.modelcontextprotocol/serverInfo":{"icons":[]}},"prompts":[{"icons":7}]}`,
			[]string{"/_meta/io.modelcontextprotocol~1serverInfo/icons Implementation", "/prompts/0/icons Prompt"}},
		{spec.V2026_07_28, "InputRequiredResult", "role",
			`{"inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[{"role":"x"}]}}}}`,
			[]string{"/inputRequests/a/params/messages/0/role SamplingMessage"}},
		{spec.V2025_11_25, "SamplingMessage", "_meta", `{"content":{"type":"text","_meta":1}}`,
			[]string{"/content/_meta TextContent"}},
		{spec.V2025_11_25, "SamplingMessage", "_meta", `{"content":[{"type":"text","_meta":1}]}`,
			[]string{"/content/0/_meta TextContent"}},
		{spec.V2025_06_18, "CallToolResult", "content", `[]`, nil},
	} {
		var got []string
		for _, m := range For(c.rev).Members(c.def, c.name, gjson.Parse(c.in)) {
			got = append(got, fmt.Sprintf("%s %s", m.Path, m.Definition))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s of %s:\n got %q\nwant %q", c.rev, c.name, c.def, got, c.want)
		}
	}
}

func TestViolationPointsToMissingMember(t *testing.T) {
	for in, want := range map[string]string{
		`{"messages":[{"role":"user"}]}`:                                "/messages/0/content",
		`{"messages":[{"role":"user","content":{"text":"x"}}]}`:         "/messages/0/content/type",
		`{"messages":[{"role":7,"content":{"type":"text","text":""}}]}`: "/messages/0/role",
	} {
		got := For(spec.V2025_06_18).Validate("GetPromptResult", []byte(in))
		if len(got) != 1 || got[0].Pointer() != want {
			t.Errorf("%s: %v is at %q, want %q", in, got, got[0].Pointer(), want)
		}
	}
}
