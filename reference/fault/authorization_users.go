package fault

import (
	"bytes"
	"context"
	"net/http"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// userFaults are about what belongs to a user, and about requests without a token
// behind others that have one.
func userFaults() []Fault {
	sessions := spec.Between(spec.V2025_06_18, spec.V2025_11_25)
	return []Fault{
		{
			Name: "session-for-token", Does: "takes a POST with the id of a session for one of its user",
			CaughtBy: []string{"security.session.authentication"},
			Also:     map[string]string{"security.requests.verified": "a notification is posted too"},
			Apply: inspite(server.RefusedMissing, func(r *http.Request, _ *server.Refusal) bool {
				return r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") != ""
			}),
		},
		{
			Name: "stream-without-token", Does: "gives the stream of a session to whoever names its id",
			In: sessions, CaughtBy: []string{"security.requests.verified"},
			Apply: inspite(server.RefusedMissing, func(r *http.Request, _ *server.Refusal) bool { return r.Method == http.MethodGet }),
		},
		{
			Name: "delete-without-token", Does: "ends a session for whoever names its id",
			In: sessions, CaughtBy: []string{"security.requests.verified"},
			Apply: inspite(server.RefusedMissing, func(r *http.Request, _ *server.Refusal) bool { return r.Method == http.MethodDelete }),
		},
		{
			Name: "token-at-opening-only", Does: "asks for a token in server/discover alone",
			In: spec.Stateless, CaughtBy: []string{"security.requests.verified"},
			Also: map[string]string{"security.handle.authentication": "a retry with a requestState is a request too"},
			Apply: inspite(server.RefusedMissing, func(r *http.Request, _ *server.Refusal) bool {
				return r.Header.Get("Mcp-Method") != "server/discover"
			}),
		},
		{
			Name: "token-passed-on", Does: "brings the token of its client to the page that a tool fetches",
			CaughtBy: []string{"authorization.token.passthrough"},
			Apply:    passingOn(),
		},
		{
			Name: "session-of-anybody", Does: "serves any user in a session that it knows",
			CaughtBy: []string{"security.session.user"},
			Apply:    onBind(server.BoundSession),
		},
		{
			Name: "state-for-token", Does: "takes a request with a requestState for one of its user",
			CaughtBy: []string{"security.handle.authentication"},
			Apply: inspite(server.RefusedMissing, func(r *http.Request, _ *server.Refusal) bool {
				return bytes.Contains(bodyOf(r), []byte(`"requestState"`))
			}),
		},
		{
			Name: "state-of-anybody", Does: "takes a requestState from any user",
			CaughtBy: []string{"mrtr.state.principal"},
			Apply:    onBind(server.BoundState),
		},
		{
			Name: "task-of-anybody", Does: "shows a task to whoever knows its id",
			CaughtBy: []string{"tasks.foreign.refused"},
			Apply:    sharingTasks(false),
		},
		{
			Name: "tasks-listed-to-users", Does: "lists the tasks of all users to each",
			CaughtBy: []string{"tasks.foreign.unlisted"},
			Apply:    sharingTasks(true),
		},
		{
			Name: "card-public", Does: "lets a list with the card of a reader be shared",
			CaughtBy: []string{"caching.public.shared"},
			Apply:    onResult("resources/list", func(o server.Object) { o["cacheScope"] = "public" }),
		},
		{
			Name: "card-of-anybody", Does: "shows the card of a reader to whoever knows its URI",
			CaughtBy: []string{"caching.private.guarded"},
			Apply: onError("resources/read", func(r *server.Request, e *server.Error) (any, *server.Error) {
				uri, _ := r.Params["uri"].(string)
				if uri != "library://readers/"+anybody+"/card" {
					return nil, e
				}
				return complete(server.Object{
					"contents": []any{server.Object{"uri": uri, "mimeType": "text/plain", "text": "This card belongs to " + anybody + "."}},
					"ttlMs":    5000, "cacheScope": "private",
				}), nil
			}),
		},
	}
}

// anonymousFaults are about clients that bring no token.
func anonymousFaults() []Fault {
	return []Fault{{
		Name: "tasks-listed-to-clients", Does: "lists the tasks of all clients to each, though it cannot tell them apart",
		Over:     transport.HTTP,
		CaughtBy: []string{"tasks.list.identified"},
		Apply:    sharingTasks(true),
	}}
}

// sharingTasks remembers the tasks of all sessions as they were made. Where
// listed, each list begins with those of others; else tasks/get shows them.
func sharingTasks(listed bool) apply {
	var mu sync.Mutex
	made := map[string]server.Object{}
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
					made[id], owner[id] = task, r.Session
				}
			case r.Method == "tasks/get" && problem != nil && !listed:
				if id, _ := r.Params["taskId"].(string); made[id] != nil && owner[id] != r.Session {
					return made[id], nil
				}
			case r.Method == "tasks/list" && problem == nil && listed && r.Params["cursor"] == nil:
				all, _ := o["tasks"].([]any)
				for id, task := range made {
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
