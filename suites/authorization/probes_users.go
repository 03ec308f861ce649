package authorization

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// sessionRules are the revisions with rules on sessions of users.
var sessionRules = spec.Between(spec.V2025_06_18, spec.V2025_11_25)

// userProbes returns the probes of what belongs to one user (sessions, request
// states, tasks) and of requests without a token that follow requests with one.
// Between 2025-06-18 and 2025-11-25 a guide has the rules for sessions
// (tutorials/security/security_best_practices, basic/security_best_practices).
func userProbes() []check.Check {
	return []check.Check{
		{
			ID:    "authorization.requests.verified",
			Says:  "the server refuses each request without a token, also after requests with the token",
			Level: spec.Must,
			In:    binding,
			On:    transport.OnHTTP,
			Rules: []string{"security-verify-all-requests"},
			Idle:  "no request without a token was sent after one with the token",
			Hint:  giveToken,
			// authorization.session.authentication judges the requests of a session; here are the
			// other messages and methods of HTTP.
			Probe: func(t *check.T) {
				requireProtected(t)
				if !t.Facts.Stateless {
					judgeSessionVerified(t)
					return
				}
				for _, r := range safeRequests(t) {
					if a := r.post(t, withoutToken()); a.isServed() {
						t.Fail("a refusal", a.describe(), "%s without a token was served after requests with the token",
							a.label)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.session.authentication",
			Says:  "the server refuses a request with the id of a session and without a token",
			Level: spec.Must,
			In:    sessionRules,
			On:    transport.OnHTTP,
			Rules: []string{"security-no-session-authentication"},
			Idle:  "no request with the id of a session and without a token was sent",
			Hint:  giveToken,
			Probe: func(t *check.T) {
				requireSession(t)
				if a := postBarrier(t, "no token", withoutToken()); a.isServed() {
					t.Fail("a refusal", a.describe(),
						"a request with the id of a session and without a token was served")
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.session.user",
			Says:  "the server refuses a request with the id of another user's session",
			Level: spec.Should,
			In:    sessionRules,
			On:    transport.OnHTTP,
			Rules: []string{"security-session-id-user-binding"},
			Idle:  "no request with the id of another user's session was sent",
			Hint:  giveSecondToken,
			Probe: func(t *check.T) {
				requireSession(t)
				if a := postBarrier(t, "the token of another user", withToken(secondToken(t))); a.isServed() {
					t.Fail("a refusal", a.describe(),
						"a request with the id of one user's session and the token of another was served")
				}
				t.Saw()
			},
		},
		{
			ID:    "authorization.handle.authentication",
			Says:  "the server refuses a request with a requestState and without a token",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"security-handle-not-authentication"},
			Idle:  "no request with a requestState and without a token was sent",
			Hint:  asking.HintState,
			Probe: func(t *check.T) {
				requireProtected(t)
				for r := range asking.RoundsWithState(t, maxStates) {
					a := postMessage(t, "no token", t.Frame(t.NextID(), r.Method, r.Retry), withoutToken())
					if a.isServed() {
						t.Fail("a refusal", a.describe(),
							"%s was retried with its requestState and without a token, and served", r)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.state.principal",
			Says:  "the server does not accept a requestState from another user",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"mrtr-request-state-bound-principal", "security-handle-user-binding"},
			Idle:  "no request that carries a requestState succeeds for its own user",
			Hint:  "offer a read-only tool that succeeds when its requestState is sent back" + check.OrAllow,
			// The other user retries first, since a requestState may be valid once. Its refusal
			// is evidence only if the requestState is valid for its own user.
			Probe: func(t *check.T) {
				token := secondToken(t)
				for r := range asking.RoundsWithState(t, asking.MaxTriggers) {
					other := postMessage(t, "the token of another user", t.Frame(t.NextID(), r.Method, r.Retry),
						withToken(token))
					if other.isServed() && other.answered && check.Succeeded(t, other.message) {
						t.Fail("a refusal", other.describe(),
							"another user retried %s with the requestState of the first one, and succeeded", r)
					}
					if check.Succeeded(t, t.Request(r.Method, r.Retry)) {
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "authorization.tasks.foreign.refused",
			Says:  "the server refuses requests for a task of another user",
			Level: spec.Must,
			In:    offer.TaskRevisions,
			On:    transport.OnHTTP,
			Needs: "tasks",
			Rules: []string{"tasks-bind-authorization-context", "tasks-reject-foreign-context"},
			Idle:  "no task was requested by another user",
			Hint:  giveSecondToken,
			Probe: func(t *check.T) {
				token, ids := secondToken(t), requireTasks(t)
				other := t.Sessions().User(token)
				defer other.Sessions().CloseLater()
				for _, id := range ids {
					for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
						m := other.Request(method, check.Params{"taskId": id})
						if m.Kind == wire.Result {
							other.Fail("an error", m.Summary(),
								"a user requested %s for a task of another user and got a result", method)
						}
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "authorization.tasks.foreign.unlisted",
			Says:  "the server lists a task to its own user alone",
			Level: spec.Must,
			In:    offer.TaskRevisions,
			On:    transport.OnHTTP,
			Needs: "tasks.list",
			Rules: []string{"tasks-list-own-context-only"},
			Idle:  "the tasks of the other user could not be listed",
			Hint:  "answer tasks/list of the second user with a result",
			Probe: func(t *check.T) {
				token, ids := secondToken(t), requireTasks(t)
				if listedTask(listTasks(t), ids) == "" {
					t.NotObserved("the server does not list the tasks to their own user",
						"list a task to its own user in tasks/list")
				}
				other := t.Sessions().User(token)
				defer other.Sessions().CloseLater()
				list := listTasks(other)
				if id := listedTask(list, ids); id != "" {
					other.Fail("the user's own tasks", id, "tasks/list lists the task %s of another user",
						wire.Clip(id, 60))
				}
				if len(list.Pages) > 0 {
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.tasks.list.identified",
			Says:  "a server that cannot identify its clients lists no task of another client",
			Level: spec.Should,
			In:    offer.TaskRevisions,
			On:    transport.OnHTTP,
			Needs: "tasks.list",
			Rules: []string{"tasks-no-list-without-identity"},
			Idle:  "the tasks of the other client could not be listed",
			Hint:  "answer tasks/list of a second client with a result",
			// Two clients without a token: if the server lists a task of one to the other, it
			// does not identify them.
			Probe: func(t *check.T) {
				if t.Auth().Bearer() != "" && !openingWithoutToken(t).isServed() {
					t.NotApplicable("the server identifies its users by their tokens")
				}
				ids := requireTasks(t)
				other := t.Sessions().Another()
				defer other.Sessions().CloseLater()
				list := listTasks(other)
				if id := listedTask(list, ids); id != "" {
					other.Fail("no tasks.list, or the client's own tasks", id,
						"tasks/list lists the task %s of another client, and nothing identifies the clients",
						wire.Clip(id, 60))
				}
				if len(list.Pages) > 0 {
					t.Saw()
				}
			},
		},
	}
}

// judgeSessionVerified judges that the server refuses notifications, GET and DELETE
// without a token in a session of its own.
func judgeSessionVerified(t *check.T) {
	own := t.Sessions().Another()
	defer own.Sessions().CloseLater()
	const notification = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mcpcheck-none"}}`
	if a := postMessage(own, "a notification", notification, withoutToken()); a.exchange.Status < 300 {
		own.Fail("a refusal", a.describe(), "a notification in the session without a token was accepted")
	}
	t.Saw()
	if own.HTTP().SessionID() == "" {
		return
	}
	for _, request := range []struct {
		method string
		edits  []check.Edit
	}{
		{http.MethodGet, []check.Edit{check.With("Accept", "text/event-stream"), withoutToken()}},
		{http.MethodDelete, []check.Edit{withoutToken()}},
	} {
		x := own.HTTP().Request(request.method, request.edits...)
		x.Close()
		if x.Status < 300 {
			own.Fail("a refusal", check.Describe(x), "%s of the session without a token was accepted", request.method)
		}
		t.Saw()
	}
}

// requireSession ends the body at a server that has no sessions.
func requireSession(t *check.T) {
	requireProtected(t)
	if t.HTTP().SessionID() == "" {
		t.NotApplicable("the server has no sessions")
	}
}

// maxStates bounds the requests whose requestState is sent, and the tasks.
const maxStates = 2

// requireTasks returns the ids of tasks of the user that the server still knows. If
// there are none the body ends.
func requireTasks(t *check.T) []string {
	var out []string
	for _, task := range taskcalls.Run(t).Trials {
		if !task.HasTask() || len(out) == maxStates {
			continue
		}
		if t.Try("tasks/get", check.Params{"taskId": task.ID()}).Succeeded() {
			out = append(out, task.ID())
		}
	}
	if len(out) == 0 {
		t.NotObserved("no task was created", "offer a read-only tool that can be called as a task"+check.OrAllow)
	}
	return out
}

// listTasks reads the list of tasks in a session.
func listTasks(t *check.T) *offer.Walk { return offer.WalkNow(t, taskcalls.TasksList) }

// listedTask returns the first of the tasks that a list holds, "" for none.
func listedTask(list *offer.Walk, ids []string) string {
	names := list.Names(list.Items())
	if i := slices.IndexFunc(ids, func(id string) bool { return slices.Contains(names, id) }); i >= 0 {
		return ids[i]
	}
	return ""
}
