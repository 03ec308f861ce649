package tasks

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// idUnknown leaves methods that the server does not know to the checks of
// these.
func idUnknown(t *check.T) {
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
}

// relatedIgnored names another task in the _meta, and one that does not exist.
func relatedIgnored(t *check.T) {
	trials := taskcalls.Needed(t)
	id, others := trials[0].Id(), []string{noSuchTask}
	if last := trials[len(trials)-1].Id(); last != id {
		others = append(others, last)
	}
	for _, other := range others {
		e, err := t.TryFrame("tasks/get", check.Params{"taskId": id, "_meta": check.Params{"io.modelcontextprotocol/related-task": check.Params{"taskId": other}}})
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
}

// knowsTask tells whether tasks/get knows a task.
func knowsTask(t *check.T, id string) bool {
	e, err := t.TryFrame("tasks/get", taskcalls.TaskParams(id))
	return err == nil && e.Message.Result().Get("taskId").String() == id
}

// listComplete asks for tasks that it misses again, since they may have
// expired, and so does the list.
func listComplete(t *check.T) {
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
}

func listCursor(t *check.T) {
	m := t.Request("tasks/list", check.Params{"cursor": "mcpcheck-invalid"})
	switch code, _ := m.Code(); code {
	case spec.InvalidParams:
	case spec.MethodNotFound:
		t.NotObserved("tasks/list is not known", "")
	default:
		t.Fail("error -32602", m.Summary(), "tasks/list with a cursor that the server never gave out was answered with %s", m.Summary())
	}
}

// cancelStatus: a task may be deleted when it is cancelled, and may have ended
// just before, of which there is a check of its own.
func cancelStatus(t *check.T) {
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
}

func cancelTerminal(t *check.T) {
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
}
