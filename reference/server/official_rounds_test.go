package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Rounds of the contract that an ordinary client does not cause.
func TestOfficialRounds(t *testing.T) {
	p := openOfficial(t, spec.V2026_07_28)
	call := func(client, tool, members string) wire.Message {
		return p.requestAs(client, "tools/call", callParams("test_"+tool, `{}`)+members)
	}
	const elicitation = "input_required_result_elicitation"
	alice := `"user_name":{"action":"accept","content":{"name":"Alice"}}`
	for _, c := range []struct{ name, client, tool, members, want string }{
		{
			"an answer in a first request", fullCapabilities, elicitation,
			`,"inputResponses":{` + alice + `,"other":{"action":"accept"}}`, "Hello, Alice!",
		},
		{
			"a wrong key", fullCapabilities, elicitation,
			`,"inputResponses":{"other":{"action":"accept","content":{}}}`, "input_required user_name",
		},
		{"an answer that is a number", fullCapabilities, elicitation, `,"inputResponses":{"user_name":5}`, "-32602"},
		{"answers that are null", fullCapabilities, elicitation, `,"inputResponses":null`, "-32602"},
		{
			"an answer without its state", fullCapabilities, "input_required_result_request_state",
			`,"inputResponses":{"confirm":{"action":"accept","content":{"ok":true}}}`, "input_required confirm",
		},
		{
			"only sampling declared", `{"sampling":{}}`, "input_required_result_capabilities", ``,
			"input_required capital_question",
		},
		{"nothing declared", `{}`, "input_required_result_capabilities", ``, `-32021 {"sampling":{}}`},
		{"a missing capability", `{}`, "missing_capability", ``, `-32021 {"sampling":{}}`},
		{
			"three things at once", fullCapabilities, "input_required_result_multiple_inputs", ``,
			"input_required client_roots greeting user_name",
		},
	} {
		if got := summary(call(c.client, c.tool, c.members)); got != c.want {
			t.Errorf("%s: the answer is %s, want %s", c.name, got, c.want)
		}
	}
	const tampered, twoRounds = "test_input_required_result_tampered_state", "test_input_required_result_multi_round"
	first := p.requestAs(fullCapabilities, "tools/call", callParams(tampered, `{}`)).Result()
	confirm := `{"confirm":{"action":"accept","content":{"ok":true}}}`
	wantCode(t, p.retry(callParams(tampered, `{}`), first.Get("requestState").String()+"-TAMPERED", confirm), -32602)
	first = p.requestAs(fullCapabilities, "tools/call", callParams(twoRounds, `{}`)).Result()
	step1 := `{"step1":{"action":"accept","content":{"name":"Ada"}}}`
	second := p.retry(callParams(twoRounds, `{}`), first.Get("requestState").String(), step1).Result()
	if first.Get("requestState").Raw == second.Get("requestState").Raw ||
		!second.Get("inputRequests.step2").Exists() || second.Get("inputRequests.step1").Exists() {
		t.Errorf("the result of the second round is %s", second.Raw)
	}
}

// summary returns the code of an error, the keys of an input_required result or the
// text of a complete one.
func summary(m wire.Message) string {
	if code, ok := m.ErrorCode(); ok {
		return strings.TrimSpace(fmt.Sprint(code, " ", m.Error().Get("data.requiredCapabilities").Raw))
	}
	if r := m.Result(); r.Get("resultType").String() == "input_required" {
		return "input_required " + strings.Join(slices.Sorted(maps.Keys(r.Get("inputRequests").Map())), " ")
	}
	return m.Result().Get("content.0.text").String()
}
