package server

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// An augmentedRequest asks for a task where there can be none; plain is the
// same request without that.
type augmentedRequest struct {
	method           string
	plain, augmented wire.Entry // no Raw where none came
}

// augmentedRequests asks the lists of the server for a task, which change
// nothing, and where calls cannot be tasks, one tool that may be called. It
// also asks for the list of tasks, for the judges to see what comes.
func augmentedRequests(t *check.T) []augmentedRequest {
	return check.Memo(t, "augmented requests", func() []augmentedRequest {
		var out []augmentedRequest
		try := func(method string, params check.Params) {
			r := augmentedRequest{method: method}
			with := check.Params{"task": check.Params{"ttl": 60_000}}
			for k, v := range params {
				with[k] = v
			}
			r.augmented, _ = t.TryFrame(method, with)
			r.plain, _ = t.TryFrame(method, params)
			out = append(out, r)
		}
		for _, l := range listings(t) {
			try(l.method, nil)
		}
		if !t.Declares("tasks") {
			_, _ = t.TryFrame("tasks/list", nil)
		}
		if makesTasks(t) {
			return out
		}
		for _, tool := range knownTools(t) {
			if args := arguments(tool, 1); len(args) > 0 && t.MayCall(tool) && !t.Learnt(slow(tool)) {
				try("tools/call", callParams(tool, args[0]))
				break
			}
		}
		return out
	})
}

// became tells whether a task came of the request.
func (r augmentedRequest) became() bool {
	return r.augmented.Message.Result().Get("task.taskId").Exists()
}

// undeclaredNormal leaves tasks that came of a request to others.
func undeclaredNormal(t *check.T) {
	seen := false
	for _, r := range augmentedRequests(t) {
		if r.plain.Message.Kind != wire.Result || r.augmented.Raw == nil || r.became() {
			continue
		}
		if r.augmented.Message.Kind != wire.Result {
			t.Mark(r.augmented)
			t.Fail("a result, as without the member task", r.augmented.Message.Summary(), "%s with the member task was answered with %s, without it with a result", r.method, r.augmented.Message.Summary())
		}
		seen = true
	}
	if !seen {
		t.NotObserved("no request succeeded that could ask for a task", "")
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
	for _, tool := range knownTools(t) {
		args := arguments(tool, 1)
		switch {
		case !onlyAsTask(tool) || len(args) == 0:
			continue
		case !t.MayCall(tool):
			held = append(held, tool.Get("name").String())
			continue
		}
		m := t.Request("tools/call", callParams(tool, args[0]))
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
	t.NotObserved("no tool that requires a task may be called", allowHint(held))
}

func forbiddenTool(t *check.T) {
	var held []string
	for _, tool := range knownTools(t) {
		args := arguments(tool, 1)
		switch {
		case canBeTask(tool) || len(args) == 0:
			continue
		case !t.MayCall(tool):
			held = append(held, tool.Get("name").String())
			continue
		}
		tr := &taskTrial{tool: tool, args: args[0]}
		m := t.Request("tools/call", asTask(tr, nil))
		if code, _ := m.Code(); code != spec.MethodNotFound {
			t.Fail("error -32601", m.Summary(), "tool %q cannot be called as a task, and was called as one", tr.name())
		}
		return
	}
	t.NotObserved("no tool that cannot be a task may be called", allowHint(held))
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
	m := t.Request("tasks/cancel", taskParams(noSuchTask))
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
