package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func TestViolationsNameDiscriminatedBranch(t *testing.T) {
	for _, c := range []struct {
		rev            spec.Revision
		def, in, want  string
		keyword, wants string // keyword and definition of the violation
	}{
		{spec.V2024_11_05, "CallToolResult", `{"content":[{"type":"video"}]}`,
			`/content/0/type: "video" is not one of text, image, resource`, "enum", "CallToolResult"},
		{spec.V2025_06_18, "CallToolResult", `{"content":[{"type":"video"}]}`,
			`/content/0/type: "video" is not one of text, image, audio, resource_link, resource`, "enum",
			"ContentBlock"},
		{spec.V2025_06_18, "CallToolResult", `{"content":[{"type":"text","text":1}]}`,
			`/content/0/text: 1 is not a string`, "type", "TextContent"},
		{spec.V2025_06_18, "CallToolResult", `{"content":[{"text":"x"}]}`,
			`/content/0: the member type is missing`, "required", "ContentBlock"},
		{spec.V2025_06_18, "CallToolResult", `{"content":["x"]}`,
			`/content/0: "x" is not an object`, "type", "ContentBlock"},
		{spec.V2025_06_18, "ReadResourceResult", `{"contents":[{"uri":"a:b","text":1}]}`,
			`/contents/0/text: 1 is not a string`, "type", "TextResourceContents"},
		{spec.V2025_06_18, "ReadResourceResult", `{"contents":[{"uri":"a:b"}]}`,
			`/contents/0: fits none of TextResourceContents (the member text is missing),` +
				` BlobResourceContents (the member blob is missing)`, "anyOf", "ReadResourceResult"},
		{spec.V2025_11_25, "SamplingMessage", `{"role":"user","content":7}`,
			`/content: 7 is not an object or an array`, "type", "SamplingMessage"},
		{spec.V2025_11_25, "SamplingMessage", `{"role":"user","content":[{"type":"resource"}]}`,
			`/content/0/type: "resource" is not one of text, image, audio, tool_use, tool_result`, "enum",
			"SamplingMessageContentBlock"},
		{spec.V2025_11_25, "ElicitRequest",
			`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"m","url":"a:b"}}`,
			`/params: the member elicitationId is missing`, "required", "ElicitRequestURLParams"},
		{spec.V2025_11_25, "ElicitRequest",
			`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m"}}`,
			`/params: the member requestedSchema is missing`, "required", "ElicitRequestFormParams"},
		{spec.V2025_06_18, "Annotations", `{"priority":1.00000000000000000000001}`,
			`/priority: 1.00000000000000000000001 is more than 1`, "maximum", "Annotations"},
		{spec.V2025_06_18, "JSONRPCRequest", `{"jsonrpc":2.0,"id":1,"method":"m"}`,
			`/jsonrpc: 2.0 is not "2.0"`, "const", "JSONRPCRequest"},
		{spec.V2025_06_18, "GetPromptRequest", `{"method":"prompts/get","params":{"name":"n","arguments":{"a/b~":1}}}`,
			`/params/arguments/a~1b~0: 1 is not a string`, "type", "GetPromptRequest"},
		{spec.V2026_07_28, "CompleteResult", `{"resultType":"complete","completion":{"values":[` +
			strings.Repeat(`"",`, 100) + `""]}}`,
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
			t.Errorf("%s %s: keyword %s of %s, want %s of %s", c.rev, c.in, got[0].Keyword, got[0].Definition,
				c.keyword, c.wants)
		}
	}
}

func TestMethodsMatchFactsOfRevision(t *testing.T) {
	for _, rev := range spec.Revisions() {
		set, f := For(rev), rev.Facts()
		for _, c := range []struct {
			side                    wire.Role
			requests, notifications []string
		}{
			{wire.Client, f.ClientRequests, f.ClientNotifications},
			{wire.Server, f.ServerRequests, f.ServerNotifications},
		} {
			var requests, notifications []string
			for name := range set.methods {
				switch {
				case !set.CanSend(c.side, name):
				case set.Request(name) != "":
					requests = append(requests, name)
				default:
					notifications = append(notifications, name)
				}
			}
			if !equalSets(requests, c.requests) {
				t.Errorf("%s: the %s sends requests\n%q, facts say\n%q", rev, c.side, requests, c.requests)
			}
			if !equalSets(notifications, c.notifications) {
				t.Errorf("%s: the %s sends notifications\n%q, facts say\n%q", rev, c.side, notifications,
					c.notifications)
			}
		}
	}
}

func equalSets(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func TestMethodsHaveDefinitions(t *testing.T) {
	for _, rev := range spec.Revisions() {
		set := For(rev)
		for name, m := range set.methods {
			if m.From == "input" {
				continue
			}
			def := set.Request(name) + set.Notification(name)
			for _, d := range append([]string{def}, m.Results...) {
				if !set.Has(d) {
					t.Errorf("%s: %s has the definition %q, which does not exist", rev, name, d)
				}
			}
			if got := gjson.GetBytes(set.instance(seeded(5), def), "method").Str; got != name {
				t.Errorf("%s: an instance of %s has the method %q, not %q", rev, def, got, name)
			}
		}
	}
	if For(spec.V2025_06_18).Request("tools/none") != "" || For(spec.V2025_06_18).CanSend(wire.Client, "tools/none") {
		t.Error("an unknown method has a definition")
	}
	if r, a := For(spec.V2026_07_28).InputDefinitions("roots/list"); r != "ListRootsRequest" || a != "ListRootsResult" {
		t.Errorf("roots/list in an input_required result: %q, %q", r, a)
	}
	if For(spec.V2026_07_28).Request("roots/list") != "" {
		t.Error("roots/list is a request in a stateless revision")
	}
}

func TestResultOf(t *testing.T) {
	for _, c := range []struct {
		rev              spec.Revision
		method, in, want string
	}{
		{spec.V2025_06_18, "tools/call", `{"content":[]}`, "CallToolResult"},
		{spec.V2025_06_18, "tools/call", `{"resultType":"input_required"}`, "CallToolResult"},
		{spec.V2025_11_25, "tools/call", `{"content":[],"task":{}}`, "CallToolResult"},
		{spec.V2025_11_25, "tools/call", `{"task":{"taskId":"1"}}`, "CreateTaskResult"},
		{spec.V2025_11_25, "tools/call", `{"task":"1"}`, "CallToolResult"},
		{spec.V2025_11_25, "elicitation/create", `{"task":{}}`, "CreateTaskResult"},
		{spec.V2026_07_28, "tools/call", `{"resultType":"complete","content":[]}`, "CallToolResult"},
		{spec.V2026_07_28, "tools/call", `{"content":[]}`, "CallToolResult"},
		{spec.V2026_07_28, "tools/call", `{"resultType":7}`, "CallToolResult"},
		{spec.V2026_07_28, "tools/call", `{"resultType":"input_required"}`, "InputRequiredResult"},
		{spec.V2026_07_28, "tools/list", `{"resultType":"input_required"}`, "ListToolsResult"},
		{spec.V2026_07_28, "tools/call", `{"resultType":"task"}`, "Result"},
		{spec.V2026_07_28, "ping", `{}`, ""},
	} {
		if got := For(c.rev).ResultOf(c.method, []byte(c.in)); got != c.want {
			t.Errorf("%s %s %s: %q, want %q", c.rev, c.method, c.in, got, c.want)
		}
	}
}

func TestIntegersAreReadExactly(t *testing.T) {
	for number, want := range map[string]bool{
		"0": true, "-0": true, "7": true, "1.0": true, "1.50": false, "15e-1": false, "150e-1": true, "1.5e1": true,
		"0.0": true, "0e99999999999": true, "1e99999999999": true, "1e-99999999999": false, "1E+3": true,
		"9007199254740993": true, "9007199254740993.1": false, "0.1e1": true, "-2.50e1": true, "10e-2": false,
		"100e-2": true, "1e-0": true,
	} {
		if isInteger(number) != want {
			t.Errorf("%s is an integer: %v", number, !want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"1", "1.0", 0}, {"1.00000000000000000000001", "1", 1}, {"1e400000000", "1", 1}, {"-1e400000000", "0",
		-1}, {"1e-400000000", "1", -1}, {"0.1", "1e-1", 0}} {
		if got := compare(c.a, c.b); got != c.want {
			t.Errorf("compare(%s, %s) = %d", c.a, c.b, got)
		}
	}
}

func TestUnknownKeywordIsAnError(t *testing.T) {
	_, err := compile(spec.V2025_06_18,
		[]byte(`{"x-methods":{},"$defs":{"A":{"type":"object","patternProperties":{}}}}`))
	if err == nil || !strings.Contains(err.Error(), "patternProperties") {
		t.Errorf("error %v does not name the keyword", err)
	}
	if _, err := compile(spec.V2025_06_18, []byte(`{"x-methods":{},"$defs":{"A":{"$ref":"#/$defs/B"}}}`)); err == nil {
		t.Error("a reference to nothing compiles")
	}
}

func TestEveryKindOfMessageIsDefined(t *testing.T) {
	for _, rev := range spec.Revisions() {
		set := For(rev)
		for _, in := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":"t"}}}`,
			`{"jsonrpc":"2.0","method":"m"}`,
			`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"m"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`,
			`{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`,
		} {
			if broken := set.Validate("JSONRPCMessage", []byte(in)); len(broken) > 0 {
				t.Errorf("%s: %s: %v", rev, in, broken)
			}
			other := strings.Replace(in, `"2.0"`, `"1.0"`, 1)
			if broken := set.Validate("JSONRPCMessage", []byte(other)); len(broken) == 0 {
				t.Errorf("%s: %s has no violation", rev, other)
			}
		}
		if got, want := set.Has("JSONRPCBatchRequest"), rev.Facts().Batches; got != want {
			t.Errorf("%s: batches are defined: %v, want %v", rev, got, want)
		}
	}
}
