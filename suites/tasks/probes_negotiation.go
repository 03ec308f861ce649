package tasks

import (
	"maps"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// Why the probes of tools are not observed.
const (
	noRequiringTool  = "no tool that requires a task may be called"
	noForbiddingTool = "no tool that cannot be a task may be called"
)

// probesOfNegotiation returns the probes of #capability-negotiation,
// #tool-level-negotiation and #task-support-and-handling.
func probesOfNegotiation() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.undeclared.normal",
			Says:  "the server processes a request that cannot be a task as usual, even if it asks for a task",
			Level: spec.Must,
			Rules: []string{"tasks-undeclared-processed-normally"},
			Idle:  noAnswer,
			Hint:  expect.HintReply,
			// Another check judges whether a task was created. A request that can fail at
			// any time is only judged if its result became an error.
			Probe: func(t *check.T) {
				for _, r := range augmentedRequests(t) {
					if r.plain.Err != nil || r.augmented.Err != nil || r.createdTask() {
						continue
					}
					if !r.answeredAlike() && (r.steady || r.plain.Message.Kind == wire.Result) {
						t.Mark(r.augmented.Entry)
						t.Fail(r.plain.Message.Summary(), r.augmented.Message.Summary(),
							"%s with the member task is answered in another way than without it", r.method)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "tasks.undeclared.none",
			Says:  "the server creates no task for a request of a type that the capability tasks does not list",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-requests-exhaustive"},
			Idle:  "no request that asks for a task where there can be none succeeded",
			Hint:  "declare tools, prompts or resources, and answer their lists",
			Probe: func(t *check.T) {
				for _, r := range augmentedRequests(t) {
					if r.createdTask() {
						t.Mark(r.augmented.Entry)
						t.Fail("the result of "+r.method, r.augmented.Message.Summary(),
							"the server created a task for %s, which the capability does not list", r.method)
					}
					if r.augmented.Message.Kind == wire.Result {
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.tool.required",
			Says:  "the server answers a call without a task of a tool that requires one with error -32601",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-required-tool-32601"},
			Idle:  noRequiringTool,
			Hint:  "offer a read-only tool whose taskSupport is required" + check.OrAllow,
			// #protocol-errors of the same page allows -32600, and -32602 may be about the
			// arguments.
			Probe: func(t *check.T) {
				tool, args := requireTool(t, noRequiringTool,
					func(tool gjson.Result) bool { return offer.RequiresTask(t, tool) })
				name := tool.Get("name").String()
				m := t.Request("tools/call", offer.CallParams(tool, args))
				switch code, _ := m.ErrorCode(); code {
				case spec.InvalidRequest:
					t.Note("tool %q is refused with -32600 (#protocol-errors), not -32601 (#tool-level-negotiation)",
						name)
				case spec.InvalidParams:
					t.NotObserved("the call was refused with "+m.Summary(), "give its arguments: tools in --config")
				default:
					match.Expect(t, m).To(match.BeError(spec.MethodNotFound),
						"a call without a task of tool %q, which requires one", name)
				}
				t.Saw()
			},
		},
		{
			ID:    "tasks.tool.forbidden",
			Says:  "the server answers a call as a task of a tool that cannot be one with error -32601",
			Level: spec.Should,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-forbidden-tool-32601"},
			Idle:  noForbiddingTool,
			Hint:  "offer a read-only tool without taskSupport" + check.OrAllow,
			Probe: func(t *check.T) {
				tool, args := requireTool(t, noForbiddingTool,
					func(tool gjson.Result) bool { return !offer.SupportsTask(tool) })
				m := t.Request("tools/call", taskcalls.CallParams(&taskcalls.Task{Tool: tool, Args: args}, nil))
				match.Expect(t, m).To(match.BeError(spec.MethodNotFound),
					"a call as a task of tool %q, which cannot be one",
					tool.Get("name").String())
				t.Saw()
			},
		},
	}
}

// probesOfOptionalMethods returns the probes of the methods that a server need not
// have.
func probesOfOptionalMethods() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.list.gated",
			Says:  "the server processes tasks/list if and only if it declares tasks.list",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-list-gated"},
			Idle:  "no tasks/list was answered",
			Hint:  expect.HintReply,
			// tasks.capability.declared judges a server that declares no tasks at all.
			Probe: func(t *check.T) {
				m := t.Request("tasks/list", nil)
				if t.Declares("tasks.list") {
					match.Expect(t, m).To(match.BeResult(), "the server declares tasks.list; tasks/list")
				} else {
					match.Expect(t, m).To(match.BeError(), "the server does not declare tasks.list; tasks/list")
				}
				t.Saw()
			},
		},
		{
			ID:    "tasks.cancel.gated",
			Says:  "the server processes tasks/cancel if and only if it declares tasks.cancel",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-cancel-gated"},
			Idle:  "no tasks/cancel was answered",
			Hint:  expect.HintReply,
			// The task does not exist, so that nothing is cancelled: the answer shows
			// whether the server knows the method.
			Probe: func(t *check.T) {
				m := t.Request("tasks/cancel", taskcalls.TaskParams(missingTask))
				code, _ := m.ErrorCode()
				switch declared := t.Declares("tasks.cancel"); {
				case declared && code == spec.MethodNotFound:
					t.Fail("error -32602", m.Summary(),
						"the server declares tasks.cancel, and does not know tasks/cancel")
				case !declared && m.Kind == wire.Result:
					t.Fail("error -32601", m.Summary(),
						"the server does not declare tasks.cancel, and tasks/cancel has a result")
				case !declared && code != spec.MethodNotFound:
					t.NotObserved("the undeclared tasks/cancel was answered for an unknown task with "+m.Summary(),
						"answer tasks/cancel with error -32601, or declare tasks.cancel")
				}
				t.Saw()
			},
		},
	}
}

// requireTool returns the first tool of a kind that may be called, with arguments for
// it. It ends the body if there is none.
func requireTool(t *check.T, none string, isKind func(tool gjson.Result) bool) (tool gjson.Result, args string) {
	var held []string
	for _, tool := range offer.Tools(t) {
		all := offer.Arguments(t, tool, 1)
		switch {
		case !isKind(tool):
		case !t.Config().MayCall(tool):
			held = append(held, tool.Get("name").String())
		case len(all) > 0:
			return tool, all[0]
		}
	}
	t.NotObserved(none, check.AllowHint(held))
	return tool, ""
}

// An augmentedRequest is a request sent with and without the member task, where the
// server can make no task of it.
type augmentedRequest struct {
	method           string
	plain, augmented check.Reply
	steady           bool // the server answers it in the same way each time
}

// answeredAlike reports whether both requests were answered with a result, or with
// errors of the same code.
func (r augmentedRequest) answeredAlike() bool {
	a, _ := r.plain.Message.ErrorCode()
	b, _ := r.augmented.Message.ErrorCode()
	return r.plain.Message.Kind == r.augmented.Message.Kind && a == b
}

// createdTask reports whether the server created a task for the request.
func (r augmentedRequest) createdTask() bool {
	return r.augmented.Message.Result().Get("task.taskId").Exists()
}

var augmentedRequestsKey = check.NewKey[[]augmentedRequest]("augmented requests")

// augmentedRequests asks for a task where there can be none: in a call of an unknown
// tool, unless calls can be tasks, in the requests for lists, which change nothing,
// and in a call of one tool that may be called. If the server declares no tasks it
// also sends tasks/list, for the judges.
func augmentedRequests(t *check.T) []augmentedRequest {
	return check.Once(t, augmentedRequestsKey, func() []augmentedRequest {
		var out []augmentedRequest
		callsArePlain := t.Declares("tools") && !offer.SupportsTaskCalls(t)
		if callsArePlain {
			params := check.Params{"name": offer.UnknownTool, "arguments": check.Params{}}
			r := sendAugmented(t, "tools/call", params)
			r.steady = true
			out = append(out, r)
		}
		for _, l := range offer.Lists(t) {
			out = append(out, sendAugmented(t, l.Method, nil))
		}
		if !t.Declares("tasks") {
			t.Try("tasks/list", nil)
		}
		for _, tool := range offer.Tools(t) {
			args := offer.Arguments(t, tool, 1)
			if callsArePlain && len(args) > 0 && t.Config().MayCall(tool) && !check.HasTrait(t, offer.SlowTool(tool)) {
				return append(out, sendAugmented(t, "tools/call", offer.CallParams(tool, args[0])))
			}
		}
		return out
	})
}

// sendAugmented sends a request with and without the member task. If the answers
// differ it sends the augmented request again: the difference may have another cause.
func sendAugmented(t *check.T, method string, params check.Params) augmentedRequest {
	with := check.Params{}
	maps.Copy(with, params)
	with["task"] = check.Params{"ttl": 60_000}
	r := augmentedRequest{method: method}
	r.augmented = t.Try(method, with)
	r.plain = t.Try(method, params)
	if !r.answeredAlike() {
		r.augmented = t.Try(method, with)
	}
	return r
}
