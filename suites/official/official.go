package official

import (
	"maps"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/official/skills"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// Checks are the probes of the public conformance contract, for servers that
// offer its tools, resources and prompts. What the contract documents of a
// fixture is asked for, in the revisions that the contract names; the server
// promises it by being run with the profile, so that a fixture that is missing
// breaks its check. Spec names the scenario of the contract.
func Checks() []check.Check {
	all := check.Servers(officialContent(), officialUtilities(), officialForms(), officialOffers(), officialStateless(), officialRounds(), officialTasks(), skills.Checks(), officialDocumented())
	for i := range all {
		all[i].Profile = "official"
	}
	return all
}

// The revisions of the contract.
var (
	inContract   = spec.Since(spec.V2025_06_18)
	inSessions   = spec.Between(spec.V2025_06_18, spec.V2025_11_25)
	since2025_11 = spec.Since(spec.V2025_11_25)
	in2025_11    = spec.Only(spec.V2025_11_25)
)

// contractArguments are the arguments that the contract calls its tools with,
// as JSON.
func contractArguments() map[string]string {
	out := map[string]string{
		"test_sampling":    `{"prompt":"Test prompt for sampling"}`,
		"test_elicitation": `{"message":"Please provide your information"}`,
		"greet":            `{"name":"World"}`,
	}
	for _, tool := range []string{
		"test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource", "test_multiple_content_types",
		"test_tool_with_logging", "test_error_handling", "test_tool_with_progress", "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
		"test_reconnection", "test_missing_capability", "test_streaming_elicitation", "test_logging_tool", "test_trigger_tool_change", "test_trigger_prompt_change",
		roundsTool + "elicitation", roundsTool + "sampling", roundsTool + "list_roots", roundsTool + "request_state",
		roundsTool + "multiple_inputs", roundsTool + "multi_round", roundsTool + "tampered_state", roundsTool + "capabilities",
	} {
		out[tool] = "{}"
	}
	return out
}

// OfContract adds what the contract says of its tools to what the user says of
// the target: they are there to be called, with these arguments.
func OfContract(given check.Given) check.Given {
	tools := maps.Clone(given.Tools)
	if tools == nil {
		tools = map[string][]string{}
	}
	for name, arguments := range contractArguments() {
		if len(tools[name]) == 0 {
			tools[name] = []string{arguments}
		}
	}
	given.Tools = tools
	return given
}

// roundsTool begins the names of the tools that ask by input_required results.
const roundsTool = "test_input_required_result_"

// contractItem returns the entry of a list that the contract names.
func contractItem(t *check.T, l offer.List, kind, name string) gjson.Result {
	if !t.Declares(l.Capability) {
		t.Fail("the capability "+l.Capability, "none", "the %s %s cannot be offered: the server does not declare the capability %s", kind, name, l.Capability)
	}
	w := offer.Walked(t, l)
	for _, item := range w.Items() {
		if item.Get(l.Key).String() == name {
			return item
		}
	}
	t.Mark(w.Last)
	got := wire.Clip("["+contract.Commas(l.Names(w.Items()))+"]", 200)
	if w.Broke != "" {
		got = w.Broke
	}
	t.Fail(name+" in the result of "+l.Method, got, "the %s %s is not listed", kind, name)
	return gjson.Result{}
}

// contractParams are the params of a call of a tool of the contract; without
// arguments the member is left out.
func contractParams(t *check.T, tool string, args check.Params) check.Params {
	contractItem(t, offer.ToolsList, "tool", tool)
	params := check.Params{"name": tool}
	if args != nil {
		params["arguments"] = args
	}
	return params
}

// contractCall returns the result of a tool of the contract, with all that it asks
// for answered.
func contractCall(t *check.T, tool string, args check.Params) gjson.Result {
	return contractSuccess(t, tool, t.Due(t.Client().Invoke("tools/call", contractParams(t, tool, args))))
}

// contractSuccess returns the result of a call that the contract wants to succeed.
func contractSuccess(t *check.T, tool string, m wire.Message) gjson.Result {
	r := contractResult(t, tool, m)
	if r.Get("isError").Bool() {
		t.Fail("a result without isError", contract.ShortJSON(r.Get("content")), "the tool %s failed: %s", tool, contract.ShortJSON(r.Get("content.0.text")))
	}
	return r
}

// contractResult returns the result in an answer, which asks for nothing more.
func contractResult(t *check.T, what string, m wire.Message) gjson.Result {
	if m.Kind != wire.Result {
		t.Fail("a result", m.Summary(), "%s was answered with %s", what, m.Summary())
	}
	if r := m.Result(); r.Get("resultType").String() == "input_required" {
		t.Fail("a complete result", contract.ShortJSON(r), "%s asks for input where it has all that it needs", what)
	}
	return m.Result()
}
