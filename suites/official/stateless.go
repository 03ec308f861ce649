package official

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
)

// officialStateless are the tools of the contract that show what a stateless
// request is allowed to see.
func officialStateless() []check.Check {
	return []check.Check{
		{
			ID:    "official.stateless.missing-capability",
			Says:  "test_missing_capability is refused with error -32021 that names sampling, where the client declares nothing",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "server-stateless",
			Probe: func(t *check.T) {
				const tool = "test_missing_capability"
				m := t.Request("tools/call", contractDeclaring(t, tool, check.Params{}))
				if code, _ := m.Code(); code != spec.MissingClientCapability {
					t.Fail(fmt.Sprint("error ", spec.MissingClientCapability), m.Summary(), "%s was answered with %s where the client declares no sampling", tool, m.Summary())
				}
				needed := m.Error().Get("data.requiredCapabilities")
				if !needed.Get("sampling").IsObject() {
					t.Fail(`requiredCapabilities with {"sampling":{}}`, contract.ShortJSON(needed), "data.requiredCapabilities of the error is %s, which does not name sampling", contract.ShortJSON(needed))
				}
			},
		},
		{
			ID:    "official.stateless.streaming-elicitation",
			Says:  "test_streaming_elicitation is answered without a request to the client",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "server-stateless",
			// contractStreaming takes an input_required result or a complete one: both
			// are answers without a request.
			Probe: func(t *check.T) {
				const tool = "test_streaming_elicitation"
				from := t.Len()
				m := t.Request("tools/call", contractDeclaring(t, tool, check.Params{"elicitation": check.Params{}}))
				for _, other := range t.Received(from) {
					if other.Kind == wire.Request {
						t.Fail("no request before the answer", other.Summary(), "%s sent the client the request %s", tool, other.Method())
					}
				}
				if m.Kind != wire.Result {
					t.Fail("a result", m.Summary(), "%s was answered with %s", tool, m.Summary())
				}
			},
		},
		{
			ID:    "official.stateless.logging",
			Says:  "test_logging_tool logs nothing where the request asks for no messages",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "server-stateless",
			Probe: func(t *check.T) {
				const tool = "test_logging_tool"
				params := contractParams(t, tool, check.Params{})
				from := t.Len()
				contractSuccess(t, tool, t.Request("tools/call", params))
				t.Forbid(from, "no notifications/message for a request without "+spec.MetaLogLevel, func(m wire.Message) bool {
					return m.Method() == "notifications/message"
				})
			},
		},
		{
			ID:    "official.subscriptions.changes",
			Says:  "test_trigger_tool_change and test_trigger_prompt_change have who listens told that the list changed",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "server-stateless",
			// contractChanges calls each trigger a second time, which takes the change back
			// where the trigger switches. Both lists share a stream: servers were seen to
			// lose a notification while another stream is being closed.
			Probe: func(t *check.T) {
				lists := changing(t)
				call := contractListen(t, lists...)
				defer t.Cancel(call)
				for _, list := range lists {
					tool := map[string]string{"tools": "test_trigger_tool_change", "prompts": "test_trigger_prompt_change"}[list]
					method := "notifications/" + list + "/list_changed"
					contractSuccess(t, tool, t.Request("tools/call", triggerParams(tool)))
					_, told := t.Await(call.Sent, func(m wire.Message) bool { return m.Method() == method && ofStream(m, call) })
					t.Try("tools/call", triggerParams(tool))
					if !told {
						t.Fail(method+" with the id of the subscription", "none", "%s was called, and who listens was not told by %s", tool, method)
					}
				}
			},
		},
		{
			ID:    "official.subscriptions.filtered",
			Says:  "who listens for changes of prompts alone is not told of test_trigger_tool_change",
			Level: spec.Must,
			In:    spec.Stateless,
			Spec:  "server-stateless",
			Probe: func(t *check.T) {
				const tool = "test_trigger_tool_change"
				if len(changing(t)) < 2 {
					t.NotApplicable("the server does not declare the changes of both lists")
				}
				call := contractListen(t, "prompts")
				defer t.Cancel(call)
				contractSuccess(t, tool, t.Request("tools/call", triggerParams(tool)))
				defer func() { t.Try("tools/call", triggerParams(tool)) }()
				t.Forbid(call.Sent, "no notifications/tools/list_changed on a stream for prompts", func(m wire.Message) bool {
					return m.Method() == "notifications/tools/list_changed" && ofStream(m, call)
				})
			},
		},
	}
}

// contractDeclaring are the params of a call of a tool of the contract by a client that
// declares certain capabilities.
func contractDeclaring(t *check.T, tool string, capabilities check.Params) check.Params {
	params := contractParams(t, tool, check.Params{})
	params["_meta"] = check.Params{spec.MetaClientCapabilities: capabilities}
	return params
}

// contractListen opens a stream for the changes of lists.
func contractListen(t *check.T, lists ...string) *check.Call {
	filter := check.Params{}
	for _, list := range lists {
		filter[list+"ListChanged"] = true
	}
	call := t.Start("subscriptions/listen", check.Params{"notifications": filter})
	m, ok := t.Await(call.Sent, func(m wire.Message) bool { return ofStream(m, call) || m.IsResponse() && m.ID().Equal(call.ID) })
	if !ok || m.Method() != "notifications/subscriptions/acknowledged" {
		got := "nothing"
		if ok {
			got = m.Summary()
		}
		t.Fail("notifications/subscriptions/acknowledged with the id of the request", got, "the first message of subscriptions/listen is %s", got)
	}
	return call
}

// changing returns the lists whose changes the server declares; one that
// declares none need not offer their triggers.
func changing(t *check.T) []string {
	lists := slices.DeleteFunc([]string{"tools", "prompts"}, func(list string) bool { return !t.Declares(list + ".listChanged") })
	if len(lists) == 0 {
		t.NotApplicable("the server declares neither tools.listChanged nor prompts.listChanged")
	}
	return lists
}

// ofStream tells whether a message is a notification of a subscription.
func ofStream(m wire.Message, listen *check.Call) bool {
	id := wire.Member(m.Params().Get("_meta"), spec.MetaSubscriptionID)
	return m.Kind == wire.Notification && wire.ID{Raw: id.Raw}.Equal(listen.ID)
}

// triggerParams are those of a call of a trigger, which need not be listed: the
// contract's own server does not.
func triggerParams(tool string) check.Params {
	return check.Params{"name": tool, "arguments": check.Params{}}
}
