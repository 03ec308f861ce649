package official

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// utilityProbes returns the probes of the tools that send notifications, and of
// completion.
func utilityProbes() []check.Check {
	return []check.Check{
		{
			ID:    "official.tools.logging",
			Says:  "test_tool_with_logging logs its three messages at level info, in order",
			Level: spec.Must,
			In:    inSessions,
			Spec:  "tools-call-with-logging",
			Idle:  noCall,
			// Each message is awaited: a server may send it after the result. The text
			// identifies it, because the tools of other calls may log too.
			Probe: func(t *check.T) {
				const tool = "test_tool_with_logging"
				params := callParams(t, tool, check.Params{})
				if !t.Declares("logging") {
					t.Fail("the capability logging", "none",
						"the server does not declare the capability logging, which %s needs", tool)
				}
				mustBeResult(t, "logging/setLevel", t.Request("logging/setLevel", check.Params{"level": "debug"}))
				from := t.Len()
				mustSucceed(t, tool, t.Request("tools/call", params))
				last := -1
				for _, text := range []string{
					"Tool execution started", "Tool processing data", "Tool execution completed",
				} {
					m, ok := t.Await(from, func(m wire.Message) bool {
						return m.Method() == "notifications/message" && hasLogText(m.Params().Get("data"), text)
					})
					if !ok {
						t.Fail("notifications/message with the text "+contract.Quote(text), "none",
							"%s did not log %s", tool, contract.Quote(text))
					}
					contract.MustBeString(t, "the level of "+contract.Quote(text), m.Params().Get("level"), "info")
					if t.Marked() < last {
						t.Fail("the three messages in order", m.Summary(),
							"%s was logged before the message that precedes it", contract.Quote(text))
					}
					last = t.Marked()
				}
				t.Saw()
			},
		},
		{
			ID:    "official.tools.progress",
			Says:  "test_tool_with_progress reports progress 0, 50 and 100 of 100 with the token of the call",
			Level: spec.Must,
			In:    inContract,
			Spec:  "tools-call-with-progress",
			Idle:  noCall,
			Probe: func(t *check.T) {
				const tool, token = "test_tool_with_progress", "progress-test-1"
				params := callParams(t, tool, check.Params{})
				params["_meta"] = check.Params{"progressToken": token}
				from := t.Len()
				mustSucceed(t, tool, t.Request("tools/call", params))
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
				if contract.Join(reports) != "0/100, 50/100, 100/100" {
					other := ""
					if len(foreign) > 0 {
						other = "; it sent reports with other tokens: " + contract.Join(foreign)
					}
					t.Fail("progress 0/100, 50/100, 100/100", contract.Join(reports),
						"%s reported [%s] with the token %s%s", tool, contract.Join(reports), token, other)
				}
				t.Saw()
			},
		},
		{
			ID:    "official.completion",
			Says:  "the server completes an argument of test_prompt_with_arguments",
			Level: spec.Must,
			In:    inContract,
			Spec:  "completion-complete",
			Idle:  "no completion was requested",
			Probe: func(t *check.T) {
				const prompt = "test_prompt_with_arguments"
				listedItem(t, offer.PromptsList, "prompt", prompt)
				if !t.Declares("completions") {
					t.Fail("the capability completions", "none",
						"the server does not declare the capability completions")
				}
				values := mustBeResult(t, "completion/complete", t.Request("completion/complete", check.Params{
					"ref":      check.Params{"type": "ref/prompt", "name": prompt},
					"argument": check.Params{"name": "arg1", "value": "test"},
				})).Get("completion.values")
				if !values.IsArray() {
					t.Fail("completion.values, an array", contract.ShortJSON(values),
						"completion.values is %s, not an array", wire.TypeName(values))
				}
				t.Saw()
			},
		},
	}
}

// hasLogText reports whether the data of a log message is a text, or an object or array
// that holds it: data may be any JSON value (server/utilities/logging).
func hasLogText(data gjson.Result, text string) bool {
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
