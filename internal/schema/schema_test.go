package schema

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestMessageNamesTheBranchItsDiscriminatorChose(t *testing.T) {
	for _, c := range []struct {
		rev            spec.Revision
		def, in, want  string
		keyword, wants string // keyword and definition of the violation
	}{
		{spec.V2024_11_05, "CallToolResult", `{"content":[{"type":"video"}]}`,
			`/content/0/type: "video" is not one of text, image, resource`, "enum", "CallToolResult"},
		{spec.V2025_06_18, "CallToolResult", `{"content":[{"type":"video"}]}`,
			`/content/0/type: "video" is not one of text, image, audio, resource_link, resource`, "enum", "ContentBlock"},
		{spec.V2025_06_18, "CallToolResult", `{"content":[{"type":"text","text":1}]}`,
			`/content/0/text: 1 is not a string`, "type", "TextContent"},
		{spec.V2025_06_18, "CallToolResult", `{"content":[{"text":"x"}]}`,
			`/content/0: the member type is missing`, "required", "ContentBlock"},
		{spec.V2025_06_18, "CallToolResult", `{"content":["x"]}`,
			`/content/0: "x" is not an object`, "type", "ContentBlock"},
		{spec.V2025_06_18, "ReadResourceResult", `{"contents":[{"uri":"a:b","text":1}]}`,
			`/contents/0/text: 1 is not a string`, "type", "TextResourceContents"},
		{spec.V2025_06_18, "ReadResourceResult", `{"contents":[{"uri":"a:b"}]}`,
			`/contents/0: fits none of TextResourceContents (the member text is missing), BlobResourceContents (the member blob is missing)`, "anyOf", "ReadResourceResult"},
		{spec.V2025_11_25, "SamplingMessage", `{"role":"user","content":7}`,
			`/content: 7 is not an object or an array`, "type", "SamplingMessage"},
		{spec.V2025_11_25, "SamplingMessage", `{"role":"user","content":[{"type":"resource"}]}`,
			`/content/0/type: "resource" is not one of text, image, audio, tool_use, tool_result`, "enum", "SamplingMessageContentBlock"},
		{spec.V2025_11_25, "ElicitRequest", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"m","url":"a:b"}}`,
			`/params: the member elicitationId is missing`, "required", "ElicitRequestURLParams"},
		{spec.V2025_11_25, "ElicitRequest", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m"}}`,
			`/params: the member requestedSchema is missing`, "required", "ElicitRequestFormParams"},
		{spec.V2025_06_18, "Annotations", `{"priority":1.00000000000000000000001}`,
			`/priority: 1.00000000000000000000001 is more than 1`, "maximum", "Annotations"},
		{spec.V2025_06_18, "JSONRPCRequest", `{"jsonrpc":2.0,"id":1,"method":"m"}`,
			`/jsonrpc: 2.0 is not "2.0"`, "const", "JSONRPCRequest"},
		{spec.V2025_06_18, "GetPromptRequest", `{"method":"prompts/get","params":{"name":"n","arguments":{"a/b~":1}}}`,
			`/params/arguments/a~1b~0: 1 is not a string`, "type", "GetPromptRequest"},
		{spec.V2026_07_28, "CompleteResult", `{"resultType":"complete","completion":{"values":[` + strings.Repeat(`"",`, 100) + `""]}}`,
			`/completion/values: has 101 items, more than 100`, "maxItems", "CompleteResult"},
		{spec.V2026_07_28, "ListToolsRequest", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
			`/params: the member _meta is missing`, "required", "PaginatedRequestParams"},
		{spec.V2025_06_18, "Tool", `{`, `is not valid JSON`, "json", "Tool"},
	} {
		got := For(c.rev).Validate(c.def, []byte(c.in))
		if len(got) != 1 || got[0].String() != c.want {
			t.Errorf("%s %s %s:\n got %v\nwant %s", c.rev, c.def, c.in, got, c.want)
			continue
		}
		if got[0].Keyword != c.keyword || got[0].Definition != c.wants {
			t.Errorf("%s %s: keyword %s of %s, want %s of %s", c.rev, c.in, got[0].Keyword, got[0].Definition, c.keyword, c.wants)
		}
	}
}
