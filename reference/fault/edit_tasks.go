package fault

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// A taskEdit changes what the server answers about a task.
type taskEdit = func(r *server.Request, v any, problem *server.Error) (any, *server.Error)

// onTasksOf changes the answers about the tasks of one tool, and their entries in
// lists.
func onTasksOf(tool string, edit taskEdit) apply {
	return onHandler(func(next server.Handler) server.Handler {
		var known sync.Map // ids of tasks
		isKnown := func(id any) bool { _, ok := known.Load(id); return ok }
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			o, _ := v.(server.Object)
			if id := createdTaskID(o); id != nil && isCall(tool)(r) {
				known.Store(id, true)
			}
			if isKnown(r.Params["taskId"]) {
				return edit(r, v, problem)
			}
			if tasks, ok := o["tasks"].([]any); ok && r.Method == "tasks/list" {
				for _, task := range tasks {
					if isKnown(task.(server.Object)["taskId"]) {
						_, _ = edit(r, task, nil)
					}
				}
			}
			return v, problem
		}
	})
}

// createdTaskID returns the id of the task that a result creates, nil for none: in
// the member task, or in a result of the tasks extension.
func createdTaskID(result server.Object) any {
	if task, ok := result["task"].(server.Object); ok {
		return task["taskId"]
	}
	if result["resultType"] == "task" {
		return result["taskId"]
	}
	return nil
}

// onTaskResultsOf changes the results of a method about the tasks of a tool.
func onTaskResultsOf(method, tool string, edit func(result server.Object)) apply {
	return onTasksOf(tool, func(r *server.Request, v any, problem *server.Error) (any, *server.Error) {
		if o, ok := v.(server.Object); ok && r.Method == method {
			edit(o)
		}
		return v, problem
	})
}

// onTaskResults changes the results of the tasks of a tool.
func onTaskResults(tool string, edit func(result server.Object)) apply {
	return onTaskResultsOf("tasks/result", tool, edit)
}

// isWorking reports whether a result is a working task.
func isWorking(v any) bool {
	task, ok := v.(server.Object)
	return ok && task["status"] == "working"
}

// createTasksLate answers with the task of stocktake after the time that its work
// takes. The task ends at once; a tasks/get waits for that.
func createTasksLate(o *server.Options) {
	const work = 200 * time.Millisecond // twice the time of stocktake without arguments
	combine(
		onRequestWhen(asksForTask("tools/call"), func(r *server.Request) {
			if r.Params["name"] == "stocktake" {
				r.Yield()
				<-time.After(work)
				r.Params["arguments"] = server.Object{"duration_ms": json.Number("0"), "steps": json.Number("1")}
			}
		}),
		onHandler(func(next server.Handler) server.Handler {
			return func(ctx context.Context, r *server.Request) (any, *server.Error) {
				v, problem := next(ctx, r)
				for r.Method == "tasks/get" && isWorking(v) {
					<-time.After(time.Millisecond)
					v, problem = next(ctx, r)
				}
				return v, problem
			}
		}),
	)(o)
}

// refuseEarlyResults refuses tasks/result while a task of stocktake works.
func refuseEarlyResults(o *server.Options) {
	onHandler(func(next server.Handler) server.Handler {
		var known sync.Map
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if _, ok := known.Load(r.Params["taskId"]); ok && r.Method == "tasks/result" {
				if task, _ := next(ctx, withMethod(r, "tasks/get")); isWorking(task) {
					return nil, &server.Error{Code: spec.InvalidRequest, Message: "The task is not done"}
				}
			}
			v, problem := next(ctx, r)
			if o, ok := v.(server.Object); ok && isCall("stocktake")(r) {
				if task, ok := o["task"].(server.Object); ok {
					known.Store(task["taskId"], true)
				}
			}
			return v, problem
		}
	})(o)
}

// reportAfterTaskCancel reports progress of a cancelled task as if its work
// continued.
func reportAfterTaskCancel(o *server.Options) {
	onFrames(func(next server.FrameSink) server.FrameSink {
		tokens := map[string]any{} // by the id of a task
		return func(f server.Frame) {
			next(f)
			m := wire.Parse(f.Raw)
			switch {
			case m.Kind != wire.Result:
			case f.Method == "tools/call" && m.Result().Get("task").Exists():
				tokens[m.Result().Get("task.taskId").String()] = metaOf(f.Request)["progressToken"]
			case f.Method == "tasks/cancel":
				id := m.Result().Get("taskId").String()
				if tokens[id] == nil {
					return
				}
				for n := range 3 {
					next(taskProgress(id, tokens[id], 90+n))
				}
			}
		}
	})(o)
}

// taskProgress returns a progress notification of a task.
func taskProgress(id string, token any, progress int) server.Frame {
	return server.Frame{Kind: wire.Notification, Method: progressMethod, Raw: wire.Encode(server.Object{
		"jsonrpc": "2.0", "method": progressMethod, "params": server.Object{
			"progressToken": token, "progress": progress, "total": 100,
			"_meta": server.Object{relatedTask: server.Object{"taskId": id}},
		},
	})}
}

// replaceTaskIDs gives tasks other ids: the n-th task the id that pick returns for
// the request that created it; "" leaves it its own.
func replaceTaskIDs(pick func(n int, r *server.Request) string) apply {
	return func(o *server.Options) {
		ids := &taskIDs{pick: pick, outgoing: map[string]string{}, incoming: map[string]string{}}
		rewriteFrames(anyFrame, func(f server.Frame) []byte {
			if id := wire.Parse(f.Raw).Result().Get("task.taskId").String(); id != "" && f.Method == "tools/call" {
				ids.add(id, f.Request)
			}
			return ids.exchange(f.Raw, ids.outgoing)
		})(o)
		rewriteLines(func(m wire.Message) []byte { return ids.exchange(m.Raw, ids.incoming) })(o)
	}
}

// taskIDs exchanges the ids of tasks.
type taskIDs struct {
	pick func(n int, r *server.Request) string

	mu                 sync.Mutex
	n                  int
	outgoing, incoming map[string]string
}

// add picks another id for a new task.
func (t *taskIDs) add(id string, r *server.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	if other := t.pick(t.n, r); other != "" {
		t.outgoing[id], t.incoming[other] = other, id
	}
}

// exchange replaces ids in a message.
func (t *taskIDs) exchange(message []byte, ids map[string]string) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := string(message)
	for from, to := range ids {
		s = strings.ReplaceAll(s, `"`+from+`"`, `"`+to+`"`)
	}
	return []byte(s)
}
