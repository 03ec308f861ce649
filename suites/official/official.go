// Package official checks the public conformance contract.
package official

import (
	"cmp"
	"maps"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/skills"
)

// Checks returns the probes of the public conformance contract, for servers that offer
// its tools, resources and prompts in the revisions that the contract names. A server
// that is run with the profile promises these fixtures: a missing one breaks its
// check. Spec names the scenario of the contract.
func Checks() []check.Check {
	all := check.Servers(
		contentProbes(), utilityProbes(), formProbes(), offerProbes(), statelessProbes(),
		inputRequiredProbes(), taskProbes(), skills.Checks(), documentedProbes(),
	)
	for i := range all {
		all[i].Profile = "official"
		all[i].Hint = cmp.Or(all[i].Hint, "offer the fixture that the check names, or run without --profile official")
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

// toolArguments returns the arguments that the contract calls its tools with, as JSON.
func toolArguments() map[string]string {
	out := map[string]string{
		"test_sampling":    `{"prompt":"Test prompt for sampling"}`,
		"test_elicitation": `{"message":"Please provide your information"}`,
		"greet":            `{"name":"World"}`,
	}
	for _, tool := range []string{
		"test_simple_text", "test_image_content", "test_audio_content",
		"test_embedded_resource", "test_multiple_content_types",
		"test_tool_with_logging", "test_error_handling", "test_tool_with_progress",
		"test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
		"test_reconnection", "test_missing_capability", "test_streaming_elicitation",
		"test_logging_tool", "test_trigger_tool_change", "test_trigger_prompt_change",
		inputRequiredTool + "elicitation", inputRequiredTool + "sampling", inputRequiredTool + "list_roots",
		inputRequiredTool + "request_state", inputRequiredTool + "multiple_inputs", inputRequiredTool + "multi_round",
		inputRequiredTool + "tampered_state", inputRequiredTool + "capabilities",
	} {
		out[tool] = "{}"
	}
	return out
}

// WithTools adds the tools of the contract to those that the user allows to be called,
// with the arguments of the contract.
func WithTools(given check.Given) check.Given {
	tools := maps.Clone(given.Tools)
	if tools == nil {
		tools = map[string][]string{}
	}
	for name, arguments := range toolArguments() {
		if len(tools[name]) == 0 {
			tools[name] = []string{arguments}
		}
	}
	given.Tools = tools
	return given
}

// inputRequiredTool is the prefix of the names of the tools that request input by
// input_required results.
const inputRequiredTool = "test_input_required_result_"
