package tasks

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// probes are the probes of basic/utilities/tasks.
func probes() []check.Check {
	all := slices.Concat(taskNegotiation(), taskResults(), taskOperations())
	for i := range all {
		all[i].In = offer.TaskRevisions
	}
	return all
}

// taskNegotiation are the probes of #capability-negotiation,
// #tool-level-negotiation and #task-support-and-handling.
func taskNegotiation() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.undeclared.normal",
			Says:  "a request of a type that cannot be a task is served as always, though it asks for a task",
			Level: spec.Must,
			Rules: []string{"tasks-undeclared-processed-normally"},
			// undeclaredNormal leaves tasks that came of a request to others. What may fail
			// at one time and not at another is only judged by results that became errors.
			Probe: func(t *check.T) {
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
			},
		},
		{
			ID:    "tasks.undeclared.none",
			Says:  "no task comes of a request of a type that the capability tasks does not list",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-requests-exhaustive"},
			Probe: func(t *check.T) {
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
			},
		},
		{
			ID:    "tasks.tool.required",
			Says:  "a call without a task of a tool that requires one is answered with error -32601",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-required-tool-32601"},
			// requiredTool: -32600 is allowed by #protocol-errors of the same page, and
			// -32602 may be about our arguments.
			Probe: func(t *check.T) {
				var held []string
				for _, tool := range offer.Tools(t) {
					args := offer.Arguments(t, tool, 1)
					switch {
					case !offer.OnlyAsTask(t, tool) || len(args) == 0:
						continue
					case !t.Config().MayCall(tool):
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
			},
		},
		{
			ID:    "tasks.tool.forbidden",
			Says:  "a call as a task of a tool that cannot be one is answered with error -32601",
			Level: spec.Should,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-forbidden-tool-32601"},
			Probe: func(t *check.T) {
				var held []string
				for _, tool := range offer.Tools(t) {
					args := offer.Arguments(t, tool, 1)
					switch {
					case offer.CanBeTask(tool) || len(args) == 0:
						continue
					case !t.Config().MayCall(tool):
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
			},
		},
		{
			ID:    "tasks.list.gated",
			Says:  "tasks/list is served if tasks.list is declared, and else is not",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-list-gated"},
			// listGated leaves a server that declares no tasks at all to
			// tasks.capability.declared.
			Probe: func(t *check.T) {
				m := t.Request("tasks/list", nil)
				switch declared := t.Declares("tasks.list"); {
				case declared && m.Kind != wire.Result:
					t.Fail("a result", m.Summary(), "tasks.list is declared, and tasks/list was answered with %s", m.Summary())
				case !declared && m.Kind == wire.Result:
					t.Fail("error -32601", m.Summary(), "tasks.list is not declared, and tasks/list was answered with a result")
				}
			},
		},
		{
			ID:    "tasks.cancel.gated",
			Says:  "tasks/cancel is served if tasks.cancel is declared, and else is not",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-cancel-gated"},
			// cancelGated asks for a task that does not exist, so that nothing is
			// cancelled: what matters is whether the method is known.
			Probe: func(t *check.T) {
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
			},
		},
	}
}

// taskResults are the probes of #creating-tasks, #result-retrieval and
// #task-execution-errors.
func taskResults() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.create.result",
			Says:  "a call as a task is answered with the task, not with the result of the tool",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-create-result"},
			// createResult: a server may refuse a call, with an error. A result says that
			// it did not.
			Probe: func(t *check.T) {
				seen := false
				for _, tr := range taskcalls.Run(t).Trials {
					m := tr.Created.Message
					if m.Kind != wire.Result {
						continue
					}
					if !m.Result().Get("task").IsObject() || m.Result().Get("content").Exists() {
						t.Mark(tr.Created.Entry)
						t.Fail("a result with task, without content", m.Summary(), "tool %q was called as a task", tr.Name())
					}
					seen = true
				}
				if !seen {
					t.NotObserved("no call as a task was accepted", check.AllowHint(taskcalls.Run(t).Held))
				}
			},
		},
		{
			ID:    "tasks.create.prompt",
			Says:  "a call as a task is answered before the tool is done",
			Level: spec.Should,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-create-result-prompt"},
			// createPrompt objects where making the task takes about as long as the direct
			// call does, beyond what any answer takes on its way, and the task has ended right
			// then; and that twice, the second time with nothing beside it.
			Probe: func(t *check.T) {
				seen := false
				way := onTheWay(t)
				for _, tr := range taskcalls.Needed(t) {
					ended := taskcalls.IsFinal(tr.Early.Message.Result())
					seen = seen || tr.Early.Message.Kind == wire.Result && !ended
					work := tr.Usual() - way
					if work < slowEnough || !ended || tr.Created.Took-way < work*4/5 {
						continue
					}
					alone := &taskcalls.Task{Tool: tr.Tool, Args: tr.Args}
					making := t.Start("tools/call", taskcalls.CallParams(alone, nil))
					alone.Created = taskcalls.AnswerTo(t, making, t.Timeout())
					alone.Early, _ = t.Try("tasks/get", taskcalls.TaskParams(alone.Id())).Get()
					if alone.Created.Took-way >= work*4/5 && taskcalls.IsFinal(alone.Early.Message.Result()) {
						t.Mark(alone.Created.Entry)
						t.Fail("the task, as soon as the call is accepted", "the task, when it has ended", "tool %q takes %s; called as a task it was answered after %s, and a %s after %s", tr.Name(),
							tr.Usual().Round(time.Millisecond), alone.Created.Took.Round(time.Millisecond), t.Facts.Barrier, way.Round(time.Millisecond))
					}
				}
				if !seen {
					t.NotObserved("no task was still at work when its making was answered", "offer a tool that takes a while as a task")
				}
			},
		},
		{
			ID:    "tasks.id.own",
			Says:  "the id of a task is the server's own, whatever the client asks for",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-id-by-receiver"},
			// idOwn asks for an id in the member task, where the schema has none.
			Probe: func(t *check.T) {
				for _, tr := range taskcalls.Needed(t) {
					e, err := t.Try("tools/call", taskcalls.CallParams(tr, check.Params{"taskId": ownTask})).Get()
					id := e.Message.Result().Get("task.taskId")
					if err != nil || !id.Exists() {
						continue
					}
					if id.String() == ownTask {
						t.Mark(e)
						t.Fail("an id of the server's own", id.Raw, "tool %q was called as a task with an id of the client's, which the task got", tr.Name())
					}
					if t.Declares("tasks.cancel") {
						t.Try("tasks/cancel", taskcalls.TaskParams(id.String()))
					}
					return
				}
				t.NotObserved("no task came of a call that asks for an id", "")
			},
		},
		{
			ID:    "tasks.get.answered",
			Says:  "tasks/get is answered with the task that it names",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-get-answered"},
			Probe: func(t *check.T) {
				seen := false
				for _, tr := range taskcalls.Needed(t) {
					if tr.Early.Raw == nil {
						continue
					}
					t.Mark(tr.Early)
					if got := tr.Early.Message.Result().Get("taskId"); got.String() != tr.Id() {
						t.Fail("task "+tr.Id(), tr.Early.Message.Summary(), "tasks/get of the task of tool %q, right after it was made", tr.Name())
					}
					seen = true
				}
				if !seen {
					t.Fail("an answer to tasks/get", "none", "tasks/get was not answered")
				}
			},
		},
		{
			ID:    "tasks.result.blocks",
			Says:  "tasks/result is answered when the task has ended, not before",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-blocks"},
			// resultBlocks asks for the task behind its result.
			Probe: func(t *check.T) {
				seen := false
				for _, tr := range taskcalls.Needed(t) {
					if tr.Result.Raw == nil || tr.Late.Message.Kind != wire.Result {
						continue
					}
					if !tr.Ended() {
						t.Mark(tr.Result)
						t.Fail("an answer when the task has ended", tr.Result.Message.Summary(), "tasks/result of the task of tool %q was answered, and then the task is %s", tr.Name(), tr.Late.Message.Result().Get("status"))
					}
					seen = seen || !taskcalls.IsFinal(tr.Early.Message.Result())
				}
				if !seen {
					t.NotObserved("no task was at work when its result was asked for", "offer a tool that takes a while as a task")
				}
			},
		},
		{
			ID:    "tasks.result.kept",
			Says:  "tasks/result of a task that has ended gives its result each time",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-terminal-final"},
			// resultKept: a task that has not outlived its ttl may not be deleted
			// (#ttl-and-resource-management), and while it is there its result is due.
			Probe: func(t *check.T) {
				seen := false
				for _, tr := range taskcalls.Needed(t) {
					if !tr.Ended() || tr.Again.Raw == nil || expired(tr) {
						continue
					}
					if a, b := tr.Result.Message, tr.Again.Message; !taskcalls.SameOutcome(a, b) {
						t.Mark(tr.Again)
						t.Fail(a.Summary(), b.Summary(), "tasks/result of the task of tool %q was answered in another way the second time", tr.Name())
					}
					seen = true
				}
				if !seen {
					t.NotObserved("no task was asked for its result twice after it had ended", "")
				}
			},
		},
		{
			ID:    "tasks.result.identical",
			Says:  "the result of a task is what the call gives without a task",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-identical"},
			// resultIdentical looks at tools that give the same each time.
			Probe: func(t *check.T) {
				seen := false
				for _, tr := range taskcalls.Needed(t) {
					if otherResult(tr) && tr.Still(t, otherResult) {
						t.Mark(tr.Result)
						t.Fail(tr.Direct[0].Message.Summary(), tr.Result.Message.Summary(), "tool %q gives the same twice without a task, and another result as one", tr.Name())
					}
					seen = seen || tr.Ended() && tr.Alike(wire.Result) && tr.Result.Message.Kind == wire.Result && !otherResult(tr)
				}
				if !seen {
					t.NotObserved("no tool gives the same result twice, and also as a task", "offer a tool with taskSupport optional")
				}
			},
		},
		{
			ID:    "tasks.result.response",
			Says:  "tasks/result of a call that ended in a result is answered with a result, also if the tool failed",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-success-response"},
			// resultResponse: that a task is completed says that a result came of it.
			Probe: func(t *check.T) {
				seen := false
				for _, tr := range taskcalls.Needed(t) {
					if noResult(tr) && tr.Still(t, noResult) {
						t.Mark(tr.Result)
						t.Fail("a result", tr.Result.Message.Summary(), "the call of tool %q ends in a result, and tasks/result was answered with %s", tr.Name(), tr.Result.Message.Summary())
					}
					seen = seen || tr.Ended() && tr.GaveResult() && tr.Result.Message.Kind == wire.Result
				}
				if !seen {
					t.NotObserved("no task came to a result", "")
				}
			},
		},
		{
			ID:    "tasks.result.error",
			Says:  "tasks/result of a call that ended in a protocol error is answered with that error",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-same-error"},
			Probe: func(t *check.T) {
				seen := false
				for _, tr := range taskcalls.Needed(t) {
					if otherError(tr) && tr.Still(t, otherError) {
						t.Mark(tr.Result)
						t.Fail(tr.Direct[0].Message.Summary(), tr.Result.Message.Summary(), "tool %q without a task is answered with %s, tasks/result with %s", tr.Name(), tr.Direct[0].Message.Summary(), tr.Result.Message.Summary())
					}
					seen = seen || tr.Ended() && tr.Alike(wire.Error) && tr.Result.Message.Kind == wire.Error && !otherError(tr)
				}
				if !seen {
					t.NotObserved("no tool that can be a task is answered with a protocol error", "")
				}
			},
		},
	}
}

// taskOperations are the probes of #task-listing, #task-cancellation,
// #associating-task-related-messages and #protocol-errors.
func taskOperations() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.id.unknown",
			Says:  "a request about a task that does not exist is answered with error -32602",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-unknown-id-32602"},
			// idUnknown leaves methods that the server does not know to the checks of
			// these.
			Probe: func(t *check.T) {
				methods := []string{"tasks/get", "tasks/result"}
				if t.Declares("tasks.cancel") {
					methods = append(methods, "tasks/cancel")
				}
				seen := false
				for _, method := range methods {
					m := t.Request(method, taskcalls.TaskParams(noSuchTask))
					switch code, _ := m.Code(); code {
					case spec.MethodNotFound:
					case spec.InvalidParams:
						seen = true
					default:
						t.Fail("error -32602", m.Summary(), "%s of a task that does not exist was answered with %s", method, m.Summary())
					}
				}
				if !seen {
					t.NotObserved("no method of tasks is known", "")
				}
			},
		},
		{
			ID:    "tasks.related.ignored",
			Says:  "tasks/get is about the task that its parameter names, whatever its _meta names",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-taskid-param-authoritative", "tasks-related-task-ignored"},
			// relatedIgnored names another task in the _meta, and one that does not exist.
			Probe: func(t *check.T) {
				trials := taskcalls.Needed(t)
				id, others := trials[0].Id(), []string{noSuchTask}
				if last := trials[len(trials)-1].Id(); last != id {
					others = append(others, last)
				}
				for _, other := range others {
					e, err := t.Try("tasks/get", check.Params{"taskId": id, "_meta": check.Params{"io.modelcontextprotocol/related-task": check.Params{"taskId": other}}}).Get()
					got := "none"
					if err == nil {
						t.Mark(e)
						got = e.Message.Summary()
					}
					if e.Message.Result().Get("taskId").String() != id && knowsTask(t, id) {
						t.Fail("task "+id, got, "tasks/get of task %q names %q in its _meta", id, other)
					}
				}
				if !knowsTask(t, id) {
					t.NotObserved("the task is not known any more", "")
				}
			},
		},
		{
			ID:    "tasks.list.complete",
			Says:  "a task that tasks/get knows is on a page of tasks/list",
			Level: spec.Must,
			Needs: "tasks.list",
			Rules: []string{"tasks-list-next-cursor", "tasks-list-contains-gettable"},
			// listComplete asks for tasks that it misses again, since they may have
			// expired, and so does the list.
			Probe: func(t *check.T) {
				trials := taskcalls.Needed(t)
				w := taskcalls.Run(t).List
				if !w.Whole() {
					t.NotObserved("tasks/list could not be read to its end", "")
				}
				listed := taskcalls.TasksList.Names(w.Items())
				for _, tr := range trials {
					if slices.Contains(listed, tr.Id()) || !knowsTask(t, tr.Id()) {
						continue
					}
					if again := offer.WalkNow(t, taskcalls.TasksList); again.Whole() && !slices.Contains(taskcalls.TasksList.Names(again.Items()), tr.Id()) && knowsTask(t, tr.Id()) {
						t.Mark(again.Last)
						t.Fail("task "+tr.Id(), "not on any page", "tasks/get knows the task of tool %q, and tasks/list of %d pages does not", tr.Name(), len(again.Pages))
					}
				}
			},
		},
		{
			ID:    "tasks.list.cursor",
			Says:  "tasks/list with an invalid cursor is answered with error -32602",
			Level: spec.Must,
			Needs: "tasks.list",
			Rules: []string{"tasks-list-invalid-cursor-32602"},
			Probe: func(t *check.T) {
				m := t.Request("tasks/list", check.Params{"cursor": "mcpcheck-invalid"})
				switch code, _ := m.Code(); code {
				case spec.InvalidParams:
				case spec.MethodNotFound:
					t.NotObserved("tasks/list is not known", "")
				default:
					t.Fail("error -32602", m.Summary(), "tasks/list with a cursor that the server never gave out was answered with %s", m.Summary())
				}
			},
		},
		{
			ID:    "tasks.cancel.status",
			Says:  "the answer to tasks/cancel shows the task as cancelled, as does tasks/get behind it",
			Level: spec.Must,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancel-transitions-first"},
			// cancelStatus: a task may be deleted when it is cancelled, and may have ended
			// just before, of which there is a check of its own.
			Probe: func(t *check.T) {
				all := taskcalls.Run(t)
				seen := false
				for _, c := range all.Cancelled {
					if c.Answer.Message.Kind != wire.Result {
						continue
					}
					for i, e := range []wire.Entry{c.Answer, c.Behind} {
						status := e.Message.Result().Get("status")
						if e.Message.Kind == wire.Result && !taskcalls.IsFinal(e.Message.Result()) {
							t.Mark(e)
							t.Fail("the status cancelled", status.Raw, "the task of tool %q was cancelled, and %s shows it as %s", c.Tool, []string{"the answer", "tasks/get behind the answer"}[i], status.Raw)
						}
					}
					seen = true
				}
				if !seen {
					t.NotObserved("no task was cancelled before it ended", check.AllowHint(all.Held))
				}
			},
		},
		{
			ID:    "tasks.cancel.terminal",
			Says:  "tasks/cancel of a task that has ended is answered with error -32602",
			Level: spec.Must,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancel-terminal-32602"},
			Probe: func(t *check.T) {
				for _, tr := range taskcalls.Needed(t) {
					if !tr.Ended() || !knowsTask(t, tr.Id()) {
						continue
					}
					m := t.Request("tasks/cancel", taskcalls.TaskParams(tr.Id()))
					switch code, _ := m.Code(); code {
					case spec.InvalidParams:
						return
					case spec.MethodNotFound:
						t.NotObserved("tasks/cancel is not known", "")
					default:
						t.Fail("error -32602", m.Summary(), "the task of tool %q had ended, and tasks/cancel was answered with %s", tr.Name(), m.Summary())
					}
				}
				t.NotObserved("no task had ended and was still known", "")
			},
		},
	}
}
