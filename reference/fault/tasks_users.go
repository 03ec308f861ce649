package fault

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// tasksHTTP are faults of tasks over streamable HTTP.
func tasksHTTP() []Fault {
	return []Fault{{
		Name: "task-state-streamed", Does: "answers tasks/get with an event stream, and other requests with JSON",
		CaughtBy: []string{"streamable-http.tasks.get.plain"},
		Apply:    streamTasksGet,
	}}
}

// streamTasksGet wraps answers to tasks/get into a stream that begins with a priming
// event.
func streamTasksGet(o *server.Options) {
	var n atomic.Int64
	onHTTPAnswer(posts(isMessage(wire.Request, "tasks/get")), func(a *httpAnswer) {
		if a.status != http.StatusOK {
			return
		}
		id, data := n.Add(1), bytes.TrimSpace(a.body.Bytes())
		a.set(http.StatusOK, "text/event-stream",
			fmt.Appendf(nil, "id: t%d-0\ndata: \n\nid: t%d-1\ndata: %s\n\n", id, id, data))
	})(o)
}

// tasksOfUsers are faults of tasks on a server that requires an access token.
func tasksOfUsers() []Fault {
	return []Fault{
		{
			Name: "task-of-any-user", Does: "returns a task to every user",
			CaughtBy: []string{"authorization.tasks.foreign.refused"},
			Apply:    shareTasks(false),
		},
		{
			Name: "tasks-listed-to-users", Does: "lists the tasks of all users to each user",
			CaughtBy: []string{"authorization.tasks.foreign.unlisted"},
			Apply:    shareTasks(true),
		},
	}
}

// tasksOfClients are faults of tasks on a server that does not know its users.
func tasksOfClients() []Fault {
	return []Fault{{
		Name: "tasks-listed-to-clients", Does: "lists the tasks of all clients to each client, which it cannot identify",
		CaughtBy: []string{"authorization.tasks.list.identified"},
		Apply:    shareTasks(true),
	}}
}

// shareTasks keeps the tasks of all sessions as they were created. Where listed is
// true, each list begins with the tasks of other sessions; else tasks/get returns
// them.
func shareTasks(listed bool) apply {
	var mu sync.Mutex
	created := map[string]server.Object{}
	owner := map[string]*server.Session{}
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			mu.Lock()
			defer mu.Unlock()
			o, _ := v.(server.Object)
			switch {
			case r.Method == "tools/call" && problem == nil:
				if task, ok := o["task"].(server.Object); ok {
					id := task["taskId"].(string)
					created[id], owner[id] = task, r.Session
				}
			case r.Method == "tasks/get" && problem != nil && !listed:
				if id := asText(r.Params["taskId"]); created[id] != nil && owner[id] != r.Session {
					return created[id], nil
				}
			case r.Method == "tasks/list" && problem == nil && listed && r.Params["cursor"] == nil:
				all, _ := o["tasks"].([]any)
				for id, task := range created {
					if owner[id] != r.Session {
						all = append(all, task)
					}
				}
				o["tasks"] = all
			}
			return v, problem
		}
	})
}
