package official

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
)

// statelessProbes returns the probes of the tools that depend on what a stateless request
// declares, and of the notifications of list changes.
func statelessProbes() []check.Check {
	return []check.Check{
		{
			ID:    "official.stateless.missing-capability",
			Says:  "test_missing_capability returns error -32021 naming sampling if the client declares no capability",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "server-stateless",
			Idle:  noCall,
			Probe: func(t *check.T) {
				const tool = "test_missing_capability"
				m := t.Request("tools/call", paramsDeclaring(t, tool, check.Params{}))
				match.Expect(t, m).To(match.BeError(spec.MissingClientCapability), "%s, called without sampling", tool)
				needed := m.Error().Get("data.requiredCapabilities")
				if !needed.Get("sampling").IsObject() {
					t.Fail(`requiredCapabilities with {"sampling":{}}`, contract.ShortJSON(needed),
						"data.requiredCapabilities of the error is %s, which does not name sampling",
						contract.ShortJSON(needed))
				}
				t.Saw()
			},
		},
		{
			ID:    "official.stateless.streaming-elicitation",
			Says:  "test_streaming_elicitation returns a result without a request to the client",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "server-stateless",
			Idle:  noCall,
			// Both an input_required result and a complete one are answers without a request.
			Probe: func(t *check.T) {
				const tool = "test_streaming_elicitation"
				from := t.Len()
				m := t.Request("tools/call", paramsDeclaring(t, tool, check.Params{"elicitation": check.Params{}}))
				for _, other := range t.Received(from) {
					if other.Kind == wire.Request {
						t.Fail("no request before the answer", other.Summary(),
							"%s sent the client the request %s", tool, other.Method())
					}
				}
				match.Expect(t, m).To(match.BeResult(), "%s", tool)
				t.Saw()
			},
		},
		{
			ID:    "official.stateless.logging",
			Says:  "test_logging_tool sends no log message if the request sets no log level",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "server-stateless",
			Idle:  noCall,
			Probe: func(t *check.T) {
				const tool = "test_logging_tool"
				params := callParams(t, tool, check.Params{})
				from := t.Len()
				mustSucceed(t, tool, t.Request("tools/call", params))
				t.Forbid(from, "no notifications/message for a request without "+spec.MetaLogLevel,
					func(m wire.Message) bool {
						return m.Method() == "notifications/message"
					})
				t.Saw()
			},
		},
		{
			ID:    "official.subscriptions.changes",
			Says:  "test_trigger_tool_change and test_trigger_prompt_change notify the subscriber of a changed list",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "server-stateless",
			Idle:  "no change was triggered",
			// Each trigger is called a second time, which undoes the change if the trigger
			// toggles. Both lists share a stream: some servers lose a notification while
			// another stream is being closed.
			Probe: func(t *check.T) {
				lists := declaredLists(t)
				call := listenToLists(t, lists...)
				defer t.Cancel(call)
				for _, list := range lists {
					tool := changeTriggers[list]
					method := "notifications/" + list + "/list_changed"
					mustSucceed(t, tool, t.Request("tools/call", triggerParams(tool)))
					_, notified := t.Await(call.FrameIndex, func(m wire.Message) bool {
						return m.Method() == method && isOfSubscription(m, call)
					})
					t.Try("tools/call", triggerParams(tool))
					if !notified {
						t.Fail(method+" with the id of the subscription", "none",
							"%s was called, and the subscription received no %s", tool, method)
					}
				}
				t.Saw()
			},
		},
		{
			ID:    "official.subscriptions.filtered",
			Says:  "test_trigger_tool_change sends no notification to a subscriber of changes of prompts only",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "server-stateless",
			Idle:  "no change was triggered",
			Probe: func(t *check.T) {
				const tool = "test_trigger_tool_change"
				if len(declaredLists(t)) < 2 {
					t.NotApplicable("the server does not declare the changes of both lists")
				}
				call := listenToLists(t, "prompts")
				defer t.Cancel(call)
				mustSucceed(t, tool, t.Request("tools/call", triggerParams(tool)))
				defer func() { t.Try("tools/call", triggerParams(tool)) }()
				t.Forbid(call.FrameIndex, "no notifications/tools/list_changed on a stream for prompts",
					func(m wire.Message) bool {
						return m.Method() == "notifications/tools/list_changed" && isOfSubscription(m, call)
					})
				t.Saw()
			},
		},
	}
}

// changeTriggers are the tools that change a list.
var changeTriggers = map[string]string{"tools": "test_trigger_tool_change", "prompts": "test_trigger_prompt_change"}

// paramsDeclaring returns the params of a call of a tool by a client that declares certain
// capabilities.
func paramsDeclaring(t *check.T, tool string, capabilities check.Params) check.Params {
	params := callParams(t, tool, check.Params{})
	params["_meta"] = check.Params{spec.MetaClientCapabilities: capabilities}
	return params
}

// listenToLists opens a subscription to the changes of lists.
func listenToLists(t *check.T, lists ...string) *check.Call {
	filter := check.Params{}
	for _, list := range lists {
		filter[list+"ListChanged"] = true
	}
	call := t.Start("subscriptions/listen", check.Params{"notifications": filter})
	m, ok := awaitFirst(t, call)
	if !ok || m.Method() != "notifications/subscriptions/acknowledged" {
		got := "nothing"
		if ok {
			got = m.Summary()
		}
		t.Fail("notifications/subscriptions/acknowledged with the id of the request", got,
			"the first message of subscriptions/listen is %s", got)
	}
	return call
}

// awaitFirst returns the first notification on a subscription, or the answer to its
// request if that comes first.
func awaitFirst(t *check.T, listen *check.Call) (m wire.Message, ok bool) {
	return t.Await(listen.FrameIndex, func(m wire.Message) bool {
		return isOfSubscription(m, listen) || m.IsResponse() && m.ID().Equal(listen.ID)
	})
}

// declaredLists returns the lists whose changes the server declares. A server that
// declares none need not offer the triggers.
func declaredLists(t *check.T) []string {
	lists := slices.DeleteFunc([]string{"tools", "prompts"}, func(list string) bool {
		return !t.Declares(list + ".listChanged")
	})
	if len(lists) == 0 {
		t.NotApplicable("the server declares neither tools.listChanged nor prompts.listChanged")
	}
	return lists
}

// isOfSubscription reports whether a message is a notification on a subscription.
func isOfSubscription(m wire.Message, listen *check.Call) bool {
	id := wire.Member(m.Params().Get("_meta"), spec.MetaSubscriptionID)
	return m.Kind == wire.Notification && wire.ID{Raw: id.Raw}.Equal(listen.ID)
}

// triggerParams returns the params of a call of a trigger, which need not be listed: the
// server of the contract does not list it.
func triggerParams(tool string) check.Params {
	return check.Params{"name": tool, "arguments": check.Params{}}
}
