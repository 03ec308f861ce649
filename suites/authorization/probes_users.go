package authorization

import (
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// bestPractices are the revisions whose guide to security has rules for sessions
// (tutorials/security/security_best_practices, basic/security_best_practices).
var bestPractices = spec.Between(spec.V2025_06_18, spec.V2025_11_25)

// authorizationUsers are the probes of what belongs to a user, and of requests
// that come without one behind those that came with one.
func authorizationUsers() []check.Check {
	all := []check.Check{
		{
			ID:    "security.requests.verified",
			Says:  "each request is refused without a token, whatever came before it",
			Level: spec.Must, In: audience,
			Rules: []string{"security-verify-all-requests"},
			// requestsVerified leaves the requests of a session to sessionAuthentication, and
			// looks at what else is sent in it.
			Probe: func(t *check.T) {
				nobody(t)
				if t.Facts.Stateless {
					for _, e := range errands(t) {
						k := knocked(t, e.what, t.Frame(t.NextID(), e.method, e.params), withoutToken)
						if k.served() {
							t.Fail("a refusal", k.told(), "%s without a token was served, behind others with the token: %s", e.what, k.told())
						}
					}
					return
				}
				own := t.Sessions().Another()
				defer own.Sessions().Leave()
				k := knocked(own, "a notification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mcpcheck-none"}}`, withoutToken)
				if k.x.Status < 300 {
					own.Fail("a refusal", k.told(), "a notification in the session without a token was accepted: %s", k.told())
				}
				if own.HTTP().SessionID() == "" {
					return
				}
				for method, edits := range map[string][]check.Edit{http.MethodGet: {check.With("Accept", "text/event-stream")}, http.MethodDelete: nil} {
					x := own.HTTP().Request(method, append(edits, withoutToken)...)
					x.Close()
					if x.Status < 300 {
						own.Fail("a refusal", check.Describe(x), "%s of the session without a token was accepted: %s", method, check.Describe(x))
					}
				}
			},
		},
		{
			ID:    "security.session.authentication",
			Says:  "the id of a session is no substitute for a token",
			Level: spec.Must, In: bestPractices,
			Rules: []string{"security-no-session-authentication"},
			Probe: func(t *check.T) {
				needsSession(t)
				if k := knocked(t, "no token", harmlessFrame(t), withoutToken); k.served() {
					t.Fail("a refusal", k.told(), "a request with the id of a session and without a token was served: %s", k.told())
				}
			},
		},
		{
			ID:    "security.session.user",
			Says:  "the id of a session is of no use to another user",
			Level: spec.Should, In: bestPractices,
			Rules: []string{"security-session-id-user-binding"},
			Probe: func(t *check.T) {
				needsSession(t)
				if k := knocked(t, "the token of another user", harmlessFrame(t), withToken(secondToken(t))); k.served() {
					t.Fail("a refusal", k.told(), "a request with the id of one user's session and another's token was served: %s", k.told())
				}
			},
		},
		{
			ID:    "security.handle.authentication",
			Says:  "a requestState is no substitute for a token",
			Level: spec.Must, In: spec.Stateless,
			Rules: []string{"security-handle-not-authentication"},
			Probe: func(t *check.T) {
				nobody(t)
				asking.EachState(t, maxStates, func(r asking.Round, _ string) {
					if k := knocked(t, "no token", t.Frame(t.NextID(), r.Method, r.Retry), withoutToken); k.served() {
						t.Fail("a refusal", k.told(), "%s was retried with its requestState and without a token, and served: %s", r, k.told())
					}
				})
			},
		},
		{
			ID:    "mrtr.state.principal",
			Says:  "a requestState is of no use to another user",
			Level: spec.Should, In: spec.Stateless,
			Rules: []string{"mrtr-request-state-bound-principal", "security-handle-user-binding"},
			// statePrincipal has another user retry first, since a requestState may be good
			// once. Only where it is good for its own user does the refusal tell anything.
			Probe: func(t *check.T) {
				token := secondToken(t)
				good := false
				asking.EachState(t, asking.MaxAskers, func(r asking.Round, _ string) {
					k := knocked(t, "the token of another user", t.Frame(t.NextID(), r.Method, r.Retry), withToken(token))
					if k.served() && k.answered && check.Succeeded(t, k.m) {
						t.Fail("a refusal", k.told(), "%s was retried with the requestState of one user by another, and succeeded", r)
					}
					good = good || check.Succeeded(t, t.Request(r.Method, r.Retry))
				})
				if !good {
					t.NotObserved("no request that carries a requestState succeeds for its own user", "")
				}
			},
		},
		{
			ID:    "tasks.foreign.refused",
			Says:  "a task is of no use to another user",
			Level: spec.Must, In: offer.TaskRevisions, Needs: "tasks",
			Rules: []string{"tasks-bind-authorization-context", "tasks-reject-foreign-context"},
			Probe: func(t *check.T) {
				token, ids := secondToken(t), ownTasks(t)
				other := t.Sessions().User(token)
				defer other.Sessions().Leave()
				for _, id := range ids {
					for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
						if m := other.Request(method, check.Params{"taskId": id}); m.Kind == wire.Result {
							other.Fail("an error", m.Summary(), "%s of a task of one user by another was answered with %s", method, m.Summary())
						}
					}
				}
			},
		},
		{
			ID:    "tasks.foreign.unlisted",
			Says:  "tasks are listed to their own user alone",
			Level: spec.Must, In: offer.TaskRevisions, Needs: "tasks.list",
			Rules: []string{"tasks-list-own-context-only"},
			Probe: func(t *check.T) {
				token, ids := secondToken(t), ownTasks(t)
				if _, ok := listsAny(t, ids); !ok {
					t.NotObserved("the tasks are not listed to their own user", "")
				}
				other := t.Sessions().User(token)
				defer other.Sessions().Leave()
				if id, ok := listsAny(other, ids); ok {
					other.Fail("tasks of one's own", id, "tasks/list shows one user the task %s of another", wire.Clip(id, 60))
				}
			},
		},
		{
			ID:    "tasks.list.identified",
			Says:  "a server that does not tell its clients apart lists no tasks of others",
			Level: spec.Should, In: offer.TaskRevisions, Needs: "tasks.list",
			Rules: []string{"tasks-no-list-without-identity"},
			// tasksIdentified goes by two clients without a token: what one made must not be
			// listed to the other, or the server cannot identify who asks.
			Probe: func(t *check.T) {
				if t.Auth().Bearer() != "" && !check.Once(t, withoutATokenKey, func() knock { return firstWords(t, "no token", withoutToken) }).served() {
					t.NotApplicable("the server tells its users apart by their tokens")
				}
				ids := ownTasks(t)
				other := t.Sessions().Another()
				defer other.Sessions().Leave()
				if id, ok := listsAny(other, ids); ok {
					other.Fail("no tasks.list, or tasks of one's own", id, "tasks/list shows one client the task %s of another, and nothing tells them apart", wire.Clip(id, 60))
				}
			},
		},
		{
			ID:    "caching.public.shared",
			Says:  "what may be shared between users is the same for two of them",
			Level: spec.Must, In: spec.Stateless,
			Rules: []string{"caching-public-aware"},
			// publicShared compares what two users are shown with what one is shown twice,
			// since it may change by itself.
			Probe: func(t *check.T) {
				token := secondToken(t)
				var uris []string
				if t.Declares("resources") {
					uris = offer.ResourcesList.Names(offer.Walked(t, offer.ResourcesList).Items())
				}
				uris = uris[:min(len(uris), maxViewed)]
				other := t.Sessions().User(token)
				defer other.Sessions().Leave()
				before, theirs, after := shownTo(t, uris), shownTo(other, uris), shownTo(t, uris)
				seen := false
				for i, own := range before {
					if !own.public() || !theirs[i].public() || own.shows != after[i].shows {
						continue
					}
					if seen = true; own.shows != theirs[i].shows {
						t.Fail("cacheScope private, or the same for both", wire.Clip(theirs[i].shows, 120), "%s is public, and shows one user something else than another", own.what)
					}
				}
				if !seen {
					t.NotObserved("nothing that stays as it is is public", "")
				}
			},
		},
		{
			ID:    "caching.private.guarded",
			Says:  "a resource of one user is not read by another",
			Level: spec.Must, In: spec.Stateless,
			Rules: []string{"caching-access-control"},
			Probe: func(t *check.T) {
				token := secondToken(t)
				uris := t.Auth().PrivateResources()
				if len(uris) == 0 {
					t.NotObserved("no resource is known that belongs to one user", "name it in the configuration: authorization: {private: [URI]}")
				}
				other := t.Sessions().User(token)
				defer other.Sessions().Leave()
				seen := false
				for _, uri := range uris {
					if e, err := usage.ReadResource(t, uri); err != nil || !check.IsComplete(t, e.Message) {
						continue
					}
					seen = true
					if m := other.Request("resources/read", check.Params{"uri": uri}); m.Kind == wire.Result {
						other.Fail("an error", m.Summary(), "%s belongs to one user, and was read by another", wire.Clip(uri, 120))
					}
				}
				if !seen {
					t.NotObserved("the resources that are said to belong to the first user were not read", "")
				}
			},
		},
		{
			ID:    "elicitation.url.authorization",
			Says:  "who brings no token is not sent to a page by an elicitation",
			Level: spec.Must, In: scoping,
			Rules: []string{"elicitation-not-for-mcp-auth"},
			// urlAuthorization looks at what refuses a request without a token.
			Probe: func(t *check.T) {
				nobody(t)
				all := []knock{nobody(t)}
				for _, l := range offer.Lists(t) {
					all = append(all, knocked(t, l.Method+" without a token", t.Frame(t.NextID(), l.Method, check.Params{}), withoutToken))
				}
				for _, k := range all {
					t.HTTP().Complete(k.x)
					for _, m := range k.x.Messages() {
						if page := pageFor(m); page != "" {
							t.Fail("status 401 and the flow of OAuth", m.Summary(), "a request without a token was answered by an elicitation of the page %s", wire.Clip(page, 120))
						}
					}
				}
			},
		},
	}
	for i := range all {
		all[i].On = transport.OnHTTP
	}
	return all
}

// needsSession ends the body where the server has no sessions.
func needsSession(t *check.T) {
	nobody(t)
	if t.HTTP().SessionID() == "" {
		t.NotApplicable("the server has no sessions")
	}
}

var withTheSecondTokenKey = check.NewKey[knock]("with the second token")

// secondToken returns the token of another user, which is good.
func secondToken(t *check.T) string {
	nobody(t)
	token := t.Auth().Token(check.TokenSecond)
	k := check.Once(t, withTheSecondTokenKey, func() knock { return firstWords(t, "the second user's token", withToken(token)) })
	if !k.served() {
		t.NotObserved("the token of the second user is refused: "+k.told(), "give a good one")
	}
	return token
}

// maxStates bounds the requests whose requestState is tried.
const maxStates = 2

// ownTasks returns the ids of tasks of the user that the server still knows.
func ownTasks(t *check.T) []string {
	var out []string
	for _, tr := range taskcalls.Run(t).Trials {
		if !tr.Made() || len(out) == maxStates {
			continue
		}
		if m, ok := t.Try("tasks/get", check.Params{"taskId": tr.Id()}).Answer(); ok && m.Kind == wire.Result {
			out = append(out, tr.Id())
		}
	}
	if len(out) == 0 {
		t.NotObserved("no task was made", "allow a tool that can be called as a task: --allow-tools")
	}
	return out
}

// listsAny tells whether tasks are listed in a session, and which of them.
func listsAny(t *check.T, ids []string) (id string, ok bool) {
	names := taskcalls.TasksList.Names(offer.WalkNow(t, taskcalls.TasksList).Items())
	i := slices.IndexFunc(ids, func(id string) bool { return slices.Contains(names, id) })
	if i < 0 {
		return "", false
	}
	return ids[i], true
}

// A spectacle is what a user is shown under one name, and who may share it.
type spectacle struct {
	what   string
	scopes []string // cacheScope of each part
	shows  string
}

func (v spectacle) public() bool {
	return len(v.scopes) > 0 && !slices.ContainsFunc(v.scopes, func(s string) bool { return s != "public" })
}

// shownTo returns the lists, and what is read of resources.
func shownTo(t *check.T, uris []string) []spectacle {
	var out []spectacle
	for _, l := range offer.Lists(t) {
		v := spectacle{what: l.Method}
		for _, p := range offer.WalkNow(t, l).Pages {
			v.scopes = append(v.scopes, p.Answer.Message.Result().Get("cacheScope").String())
			v.shows += p.Answer.Message.Result().Get(l.Member).Raw
		}
		out = append(out, v)
	}
	for _, uri := range uris {
		v := spectacle{what: "resources/read of " + wire.Clip(uri, 80)}
		if e, err := usage.ReadResource(t, uri); err == nil && check.IsComplete(t, e.Message) {
			v.scopes, v.shows = []string{e.Message.Result().Get("cacheScope").String()}, e.Message.Result().Get("contents").Raw
		}
		out = append(out, v)
	}
	return out
}

// maxViewed bounds the resources that two users read.
const maxViewed = 5

// pageFor returns the page that a message sends its user to by an elicitation, ""
// for none.
func pageFor(m wire.Message) string {
	var entries []gjson.Result
	if m.Method() == "elicitation/create" {
		entries = append(entries, m.Params())
	}
	if code, _ := m.Code(); code == spec.LegacyURLElicitationError {
		entries = m.Get("error.data.elicitations").Array()
	}
	if session.Interim(m) {
		m.Result().Get("inputRequests").ForEach(func(_, entry gjson.Result) bool {
			entries = append(entries, entry.Get("params"))
			return true
		})
	}
	for _, e := range entries {
		if e.Get("mode").String() == "url" {
			return e.Get("url").String()
		}
	}
	return ""
}
