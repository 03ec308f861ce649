package official

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// officialUtilities are the tools of the contract that send notifications, and
// completion.
func officialUtilities() []check.Check {
	return []check.Check{
		{
			ID:    "official.tools.logging",
			Says:  "test_tool_with_logging logs its three messages at level info, in order",
			Level: spec.Must,
			In:    inSessions,
			Spec:  "tools-call-with-logging",
			// contractLogging awaits each message in turn: a server may write them behind
			// its result. They are told by their text, since tools of other calls may log
			// as well.
			Probe: func(t *check.T) {
				const tool = "test_tool_with_logging"
				params := contractParams(t, tool, check.Params{})
				if !t.Declares("logging") {
					t.Fail("the capability logging", "none", "the server does not declare the capability logging, which %s needs", tool)
				}
				contractResult(t, "logging/setLevel", t.Request("logging/setLevel", check.Params{"level": "debug"}))
				from := t.Len()
				contractSuccess(t, tool, t.Request("tools/call", params))
				last := -1
				for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
					m, ok := t.Await(from, func(m wire.Message) bool {
						return m.Method() == "notifications/message" && logsText(m.Params().Get("data"), text)
					})
					if !ok {
						t.Fail("notifications/message with the text "+contract.AsJSON(text), "none", "%s did not log %s", tool, contract.AsJSON(text))
					}
					contract.MustDeclare(t, "the level of "+contract.AsJSON(text), m.Params().Get("level"), "info")
					if t.Marked() < last {
						t.Fail("the three messages in order", m.Summary(), "%s was logged before the message that precedes it", contract.AsJSON(text))
					}
					last = t.Marked()
				}
			},
		},
		{
			ID:    "official.tools.progress",
			Says:  "test_tool_with_progress reports 0, 50 and 100 of 100 under the token of the call",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-with-progress",
			Probe: func(t *check.T) {
				const tool, token = "test_tool_with_progress", "progress-test-1"
				params := contractParams(t, tool, check.Params{})
				params["_meta"] = check.Params{"progressToken": token}
				from := t.Len()
				contractSuccess(t, tool, t.Request("tools/call", params))
				var reports, foreign []string
				for _, m := range t.Received(from) {
					switch p := m.Params(); {
					case m.Method() != "notifications/progress":
					case p.Get("progressToken").Type == gjson.String && p.Get("progressToken").Str == token:
						reports = append(reports, p.Get("progress").Raw+"/"+p.Get("total").Raw)
					default:
						foreign = append(foreign, p.Get("progressToken").Raw)
					}
				}
				if contract.Commas(reports) != "0/100, 50/100, 100/100" {
					other := ""
					if len(foreign) > 0 {
						other = "; reports with other tokens came: " + contract.Commas(foreign)
					}
					t.Fail("progress 0/100, 50/100, 100/100", contract.Commas(reports), "%s reported [%s] under the token %s%s", tool, contract.Commas(reports), token, other)
				}
			},
		},
		{
			ID:    "official.completion",
			Says:  "an argument of test_prompt_with_arguments is completed",
			Level: spec.Must,
			In:    inContract,
			Spec:  "completion-complete",
			Probe: func(t *check.T) {
				const prompt = "test_prompt_with_arguments"
				contractItem(t, offer.PromptsList, "prompt", prompt)
				if !t.Declares("completions") {
					t.Fail("the capability completions", "none", "the server does not declare the capability completions")
				}
				values := contractResult(t, "completion/complete", t.Request("completion/complete", check.Params{
					"ref": check.Params{"type": "ref/prompt", "name": prompt}, "argument": check.Params{"name": "arg1", "value": "test"},
				})).Get("completion.values")
				if !values.IsArray() {
					t.Fail("completion.values, an array", contract.ShortJSON(values), "completion.values is %s, not an array", wire.TypeName(values))
				}
			},
		},
	}
}

// logsText tells whether the data of a log message is a text, or an object that
// holds it (server/utilities/logging: any JSON value).
func logsText(data gjson.Result, text string) bool {
	if data.Type == gjson.String {
		return data.Str == text
	}
	found := false
	data.ForEach(func(_, v gjson.Result) bool {
		found = v.Type == gjson.String && v.Str == text
		return !found
	})
	return found
}
