package tasks

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// relatedTask returns the id that related-task metadata names, of params or a
// result; it does not exist where there is none.
func relatedTask(o gjson.Result) gjson.Result {
	return wire.Member(o.Get("_meta"), "io.modelcontextprotocol/related-task").Get("taskId")
}

func relatedResult(j *check.J) {
	transcript.EachResult(j, "tasks/result", func(e wire.Entry, request wire.Message, result gjson.Result) {
		switch id, named := request.Params().Get("taskId").String(), relatedTask(result); {
		case !named.Exists():
			j.Fail(e, "the result of task %q has no related-task in its _meta", wire.Clip(id, 80))
		case named.String() != id:
			j.Fail(e, "the result of task %q names the task %q", wire.Clip(id, 80), wire.Clip(named.String(), 80))
		default:
			j.Saw()
		}
	})
}

func relatedProgress(j *check.J) {
	for _, p := range progressOfTasks(j) {
		switch named := relatedTask(p.Message.Params()); {
		case !named.Exists():
			j.Fail(p.Entry, "progress of task %q has no related-task in its _meta", wire.Clip(p.of.id(), 80))
		case named.String() != p.of.id():
			j.Fail(p.Entry, "progress of task %q names the task %q", wire.Clip(p.of.id(), 80), wire.Clip(named.String(), 80))
		default:
			j.Saw()
		}
	}
}

// nests are the requests for which a server may ask the client something.
var nests = []string{"tools/call", "prompts/get", "resources/read", "completion/complete"}

// relatedInput takes a question for one of a task where no request is open for
// which it could be asked, and a task is. A request that was cancelled counts
// as open: the question may have been under way.
func relatedInput(j *check.J) {
	for _, e := range j.Sent() {
		m := e.Message
		if m.Kind != wire.Request || m.Method() != "sampling/createMessage" && m.Method() != "elicitation/create" {
			continue
		}
		named := relatedTask(m.Params())
		switch known := knownTask(j, e, named); {
		case named.Exists() && known:
			j.Saw()
		case !taskAlone(j, e):
		case named.Exists():
			j.Fail(e, "%s names the task %q, which is none", m.Method(), wire.Clip(named.String(), 80))
		default:
			j.Fail(e, "%s is asked while only a task is open, and names none in its _meta", m.Method())
		}
	}
}

// knownTask tells whether a task of that id may have been made before a message.
func knownTask(j *check.J, before wire.Entry, id gjson.Result) bool {
	return slices.ContainsFunc(createdTasks(j), func(s taskState) bool { return s.id() == id.String() && !j.Follows(s.Entry, before) })
}

// taskAlone tells whether, at a frame, a task was made that had not ended, and
// no request was open that is no task. What was made before the transcript
// begins is not known.
func taskAlone(j *check.J, at wire.Entry) bool {
	if !j.Capabilities(wire.Server).Exists() {
		return false
	}
	live := map[string]bool{}
	for _, s := range taskStates(j) {
		if s.Index < at.Index && s.task.Get("taskId").Type == gjson.String {
			live[s.id()] = !slices.Contains([]string{"completed", "failed", "cancelled"}, s.status())
		}
	}
	if !slices.Contains(values(live), true) {
		return false
	}
	answered := map[string]wire.Entry{}
	for _, e := range j.Sent() {
		if e.Message.IsResponse() {
			answered[e.Message.ID().Key()] = e
		}
	}
	for _, e := range j.Received() {
		done, ok := answered[e.Message.ID().Key()]
		if e.Index < at.Index && e.Message.Kind == wire.Request && slices.Contains(nests, e.Message.Method()) && (!ok || !j.Follows(at, done)) {
			return false
		}
	}
	return true
}

func values(m map[string]bool) (out []bool) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func relatedAnswers(j *check.J) {
	for _, method := range []string{"tasks/get", "tasks/list", "tasks/cancel"} {
		transcript.EachResult(j, method, func(e wire.Entry, _ wire.Message, result gjson.Result) {
			if named := relatedTask(result); named.Exists() {
				j.Fail(e, "the answer to %s has related-task in its _meta", method)
				return
			}
			j.Saw()
		})
	}
}

func relatedNotification(j *check.J) {
	for _, e := range j.Sent() {
		switch {
		case e.Message.Kind != wire.Notification || e.Message.Method() != "notifications/tasks/status":
		case relatedTask(e.Message.Params()).Exists():
			j.Fail(e, "the status of task %q has related-task in its _meta", wire.Clip(e.Message.Params().Get("taskId").String(), 80))
		default:
			j.Saw()
		}
	}
}

func relatedRequests(j *check.J) {
	for _, e := range j.Sent() {
		switch m := e.Message; {
		case m.Kind != wire.Request || !slices.Contains([]string{"tasks/get", "tasks/result", "tasks/cancel"}, m.Method()):
		case relatedTask(m.Params()).Exists():
			j.Fail(e, "%s of the server has related-task in its _meta", m.Method())
		default:
			j.Saw()
		}
	}
}
