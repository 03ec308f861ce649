package fault

import (
	"context"
	"sync"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

// sharedState are faults in which a user gets what belongs to another user.
func sharedState() []Fault {
	const card = "library://readers/" + firstUser + "/card"
	contents := server.Object{"uri": card, "mimeType": "text/plain", "text": "This card belongs to " + firstUser + "."}
	return []Fault{
		{
			Name: "private-list-public", Does: "marks a list with a resource of one user as public",
			CaughtBy: []string{"authorization.caching.public.shared"},
			Apply:    onResult("resources/list", set("cacheScope", "public")),
		},
		{
			Name:     "private-resource-of-any-user",
			Does:     "returns a resource of one user to every user that knows its URI",
			CaughtBy: []string{"authorization.caching.private.guarded"},
			Apply: errorToResult("resources/read",
				func(r *server.Request, _ *server.Error) bool { return r.Params["uri"] == card },
				succeedWith(server.Object{"contents": []any{contents}, "ttlMs": 5000, "cacheScope": "private"})),
		},
		{
			Name: "state-of-any-user", Does: "accepts a requestState from any user",
			CaughtBy: []string{"authorization.state.principal"},
			Apply:    unbind(server.OwnedState),
		},
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
		Name:     "tasks-listed-to-clients",
		Does:     "lists the tasks of all clients to each client, which it cannot identify",
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
