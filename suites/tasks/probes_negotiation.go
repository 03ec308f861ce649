package tasks

import (
	"maps"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// An augmentedRequest asks for a task where there can be none; plain is the
// same request without that.
type augmentedRequest struct {
	method           string
	plain, augmented wire.Entry // no Raw where none came
	steady           bool       // it is answered in the same way each time
}

// augmentedRequests asks for a task where there can be none: in a call of an
// unknown tool, unless calls can be tasks, in the lists of the server, which
// change nothing, and in a call of one tool that may be called. It also asks
// for the list of tasks, for the judges to see what comes.
func augmentedRequests(t *check.T) []augmentedRequest {
	return check.Memo(t, "augmented requests", func() []augmentedRequest {
		var out []augmentedRequest
		try := func(method string, params check.Params, steady bool) {
			r := augmentedRequest{method: method, steady: steady}
			with := maps.Clone(params)
			if with == nil {
				with = check.Params{}
			}
			with["task"] = check.Params{"ttl": 60_000}
			r.augmented, _ = t.TryFrame(method, with)
			r.plain, _ = t.TryFrame(method, params)
			if !r.alike() { // it may have been another cause
				r.augmented, _ = t.TryFrame(method, with)
			}
			out = append(out, r)
		}
		calls := t.Declares("tools") && !offer.MakesTasks(t)
		if calls {
			try("tools/call", check.Params{"name": offer.UnknownTool, "arguments": check.Params{}}, true)
		}
		for _, l := range offer.Lists(t) {
			try(l.Method, nil, false)
		}
		if !t.Declares("tasks") {
			_, _ = t.TryFrame("tasks/list", nil)
		}
		for _, tool := range offer.Tools(t) {
			if args := offer.Arguments(t, tool, 1); calls && len(args) > 0 && t.MayCall(tool) && !t.Learnt(offer.SlowToolKey(tool)) {
				try("tools/call", offer.CallParams(tool, args[0]), false)
				break
			}
		}
		return out
	})
}

// alike tells whether both were answered in the same way: with a result, or
// with an error of the same code.
func (r augmentedRequest) alike() bool {
	a, _ := r.plain.Message.Code()
	b, _ := r.augmented.Message.Code()
	return r.plain.Message.Kind == r.augmented.Message.Kind && a == b
}

// became tells whether a task came of the request.
func (r augmentedRequest) became() bool {
	return r.augmented.Message.Result().Get("task.taskId").Exists()
}

// undeclaredNormal leaves tasks that came of a request to others. What may fail
// at one time and not at another is only judged by results that became errors.
func undeclaredNormal(t *check.T) {
	seen := false
	for _, r := range augmentedRequests(t) {
		if r.plain.Raw == nil || r.augmented.Raw == nil || r.became() {
			continue
		}
		if !r.alike() && (r.steady || r.plain.Message.Kind == wire.Result) {
			t.Mark(r.augmented)
			t.Fail(r.plain.Message.Summary(), r.augmented.Message.Summary(), "%s is answered with %s, and with the member task with %s", r.method, r.plain.Message.Summary(), r.augmented.Message.Summary())
		}
		seen = true
	}
	if !seen {
		t.NotObserved("no request was answered that could ask for a task", "")
	}
}

func undeclaredNone(t *check.T) {
	seen := false
	for _, r := range augmentedRequests(t) {
		if r.became() {
			t.Mark(r.augmented)
			t.Fail("the answer to "+r.method, r.augmented.Message.Summary(), "a task came of %s, which the capability does not list", r.method)
		}
		seen = seen || r.augmented.Message.Kind == wire.Result
	}
	if !seen {
		t.NotObserved("no request succeeded that could ask for a task", "")
	}
}

// requiredTool: -32600 is allowed by #protocol-errors of the same page, and
// -32602 may be about our arguments.
func requiredTool(t *check.T) {
	var held []string
	for _, tool := range offer.Tools(t) {
		args := offer.Arguments(t, tool, 1)
		switch {
		case !offer.OnlyAsTask(t, tool) || len(args) == 0:
			continue
		case !t.MayCall(tool):
			held = append(held, tool.Get("name").String())
			continue
		}
		m := t.Request("tools/call", offer.CallParams(tool, args[0]))
		switch code, _ := m.Code(); code {
		case spec.MethodNotFound:
			return
		case spec.InvalidRequest:
			t.Note("tool %q was refused with -32600, as #protocol-errors allows; #tool-level-negotiation wants -32601", tool.Get("name").String())
			return
		case spec.InvalidParams:
			t.NotObserved("the call was refused with "+m.Summary(), "give arguments that fit")
		default:
			t.Fail("error -32601", m.Summary(), "tool %q can only be called as a task, and was called without one", tool.Get("name").String())
		}
	}
	t.NotObserved("no tool that requires a task may be called", check.AllowHint(held))
}

func forbiddenTool(t *check.T) {
	var held []string
	for _, tool := range offer.Tools(t) {
		args := offer.Arguments(t, tool, 1)
		switch {
		case offer.CanBeTask(tool) || len(args) == 0:
			continue
		case !t.MayCall(tool):
			held = append(held, tool.Get("name").String())
			continue
		}
		tr := &taskcalls.Task{Tool: tool, Args: args[0]}
		m := t.Request("tools/call", taskcalls.CallParams(tr, nil))
		if code, _ := m.Code(); code != spec.MethodNotFound {
			t.Fail("error -32601", m.Summary(), "tool %q cannot be called as a task, and a call as one was answered with %s", tr.Name(), m.Summary())
		}
		return
	}
	t.NotObserved("no tool that cannot be a task may be called", check.AllowHint(held))
}

// listGated leaves a server that declares no tasks at all to
// tasks.capability.declared.
func listGated(t *check.T) {
	m := t.Request("tasks/list", nil)
	switch declared := t.Declares("tasks.list"); {
	case declared && m.Kind != wire.Result:
		t.Fail("a result", m.Summary(), "tasks.list is declared, and tasks/list was answered with %s", m.Summary())
	case !declared && m.Kind == wire.Result:
		t.Fail("error -32601", m.Summary(), "tasks.list is not declared, and tasks/list was answered with a result")
	}
}

// cancelGated asks for a task that does not exist, so that nothing is
// cancelled: what matters is whether the method is known.
func cancelGated(t *check.T) {
	m := t.Request("tasks/cancel", taskcalls.TaskParams(noSuchTask))
	code, _ := m.Code()
	switch declared := t.Declares("tasks.cancel"); {
	case declared && code == spec.MethodNotFound:
		t.Fail("error -32602", m.Summary(), "tasks.cancel is declared, and tasks/cancel is not known")
	case !declared && m.Kind == wire.Result:
		t.Fail("error -32601", m.Summary(), "tasks.cancel is not declared, and tasks/cancel was answered with a result")
	case !declared && code != spec.MethodNotFound:
		t.NotObserved("tasks.cancel is not declared, and tasks/cancel of an unknown task was answered with "+m.Summary(), "")
	}
}
