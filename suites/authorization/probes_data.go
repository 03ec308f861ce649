package authorization

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// dataProbes returns the probes of what the server sends to which user: cached
// results, resources and pages for authorization.
func dataProbes() []check.Check {
	return []check.Check{
		{
			ID:    "authorization.caching.public.shared",
			Says:  "a result that is public is the same for two users",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"caching-public-aware"},
			Idle:  "no public result stays the same for one user",
			Hint:  "return a list or a resource with cacheScope public",
			// A result may change by itself: only one that the first user gets twice is
			// compared with that of the second.
			Probe: func(t *check.T) {
				token := secondToken(t)
				var uris []string
				if t.Declares("resources") {
					uris = offer.ResourcesList.Names(offer.WalkOnce(t, offer.ResourcesList).Items())
				}
				uris = uris[:min(len(uris), maxCompared)]
				other := t.Sessions().User(token)
				defer other.Sessions().CloseLater()
				before, others, after := readResults(t, uris), readResults(other, uris), readResults(t, uris)
				for i, own := range before {
					if !own.isPublic() || !others[i].isPublic() || own.content != after[i].content {
						continue
					}
					if own.content != others[i].content {
						t.Fail("cacheScope private, or the same for both", wire.Clip(others[i].content, 120),
							"the result of %s is public, and differs between two users", own.request)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.caching.private.guarded",
			Says:  "the server does not let a user read a resource of another user",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"caching-access-control"},
			Idle:  "the first user could not read the private resources either",
			Hint:  "name resources that the first user can read: authorization: {private: [URI]} in --config",
			Probe: func(t *check.T) {
				token := secondToken(t)
				uris := t.Auth().PrivateResources()
				if len(uris) == 0 {
					t.NotObserved("no resource is known that belongs to one user",
						"name it: authorization: {private: [URI]} in --config")
				}
				other := t.Sessions().User(token)
				defer other.Sessions().CloseLater()
				for _, uri := range uris {
					if e, err := usage.ReadResource(t, uri).Get(); err != nil || !check.IsComplete(t, e.Message) {
						continue
					}
					if m := other.Request("resources/read", check.Params{"uri": uri}); m.Kind == wire.Result {
						other.Fail("an error", m.Summary(), "another user read %s, which belongs to the first user",
							wire.Clip(uri, 120))
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "authorization.elicitation.url",
			Says:  "the server does not send a client without a token to a page by elicitation",
			Level: spec.Must,
			In:    scoping,
			On:    transport.OnHTTP,
			Rules: []string{"elicitation-not-for-mcp-auth"},
			Idle:  "no request without a token was answered",
			Hint:  giveToken,
			Probe: func(t *check.T) {
				all := []attempt{requireProtected(t)}
				for _, l := range offer.Lists(t) {
					frame := t.Frame(t.NextID(), l.Method, check.Params{})
					all = append(all, postMessage(t, l.Method+" without a token", frame, withoutToken()))
				}
				for _, a := range all {
					t.HTTP().Complete(a.exchange)
					for _, m := range a.exchange.Snapshot().Messages() {
						if page := elicitedPage(m); page != "" {
							t.Fail("status 401 and the OAuth flow", m.Summary(),
								"a request without a token was answered by an elicitation of the page %s",
								wire.Clip(page, 120))
						}
					}
					t.Saw()
				}
			},
		},
	}
}

// maxCompared bounds the resources that two users read.
const maxCompared = 5

// A userResult is what a user gets by one request.
type userResult struct {
	request string
	scopes  []string // cacheScope of each page
	content string
}

// isPublic reports whether caches may share the whole result between users.
func (r userResult) isPublic() bool {
	for _, scope := range r.scopes {
		if scope != "public" {
			return false
		}
	}
	return len(r.scopes) > 0
}

// readResults reads all lists and the resources in the session of a user.
func readResults(t *check.T, uris []string) []userResult {
	var out []userResult
	for _, l := range offer.Lists(t) {
		r := userResult{request: l.Method}
		for _, p := range offer.WalkNow(t, l).Pages {
			result := p.Answer.Message.Result()
			r.scopes = append(r.scopes, result.Get("cacheScope").String())
			r.content += result.Get(l.Member).Raw
		}
		out = append(out, r)
	}
	for _, uri := range uris {
		r := userResult{request: "resources/read of " + wire.Clip(uri, 80)}
		if e, err := usage.ReadResource(t, uri).Get(); err == nil && check.IsComplete(t, e.Message) {
			result := e.Message.Result()
			r.scopes, r.content = []string{result.Get("cacheScope").String()}, result.Get("contents").Raw
		}
		out = append(out, r)
	}
	return out
}

// elicitedPage returns the URL of the page to which a message sends the user by
// elicitation, "" for none.
func elicitedPage(m wire.Message) string {
	var elicitations []gjson.Result
	if m.Method() == "elicitation/create" {
		elicitations = append(elicitations, m.Params())
	}
	if code, _ := m.ErrorCode(); code == spec.LegacyURLElicitationError {
		elicitations = m.Get("error.data.elicitations").Array()
	}
	if session.IsInputRequired(m) {
		m.Result().Get("inputRequests").ForEach(func(_, request gjson.Result) bool {
			elicitations = append(elicitations, request.Get("params"))
			return true
		})
	}
	for _, e := range elicitations {
		if e.Get("mode").String() == "url" {
			return e.Get("url").String()
		}
	}
	return ""
}
