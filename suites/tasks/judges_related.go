package tasks

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// relatedTask returns the id that related-task metadata names, of params or a
// result; it does not exist where there is none.
func relatedTask(o gjson.Result) gjson.Result {
	return wire.Member(o.Get("_meta"), "io.modelcontextprotocol/related-task").Get("taskId")
}

// nests are the requests for which a server may ask the client something.
var nests = []string{"tools/call", "prompts/get", "resources/read", "completion/complete"}

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
