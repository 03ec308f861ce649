package authorization

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// A safeRequest is a request that changes nothing and succeeds with the good token.
type safeRequest struct {
	what   string
	method string
	params check.Params
}

var safeRequestsKey = check.NewKey[[]safeRequest]("requests that succeed with the token")

// safeRequests returns requests for the lists of the server, for a resource and of a
// tool that only reads.
func safeRequests(t *check.T) []safeRequest {
	return check.Once(t, safeRequestsKey, func() []safeRequest {
		var out []safeRequest
		for _, l := range offer.Lists(t) {
			if w := offer.WalkOnce(t, l); len(w.Pages) > 0 {
				out = append(out, safeRequest{l.Method, l.Method, check.Params{}})
			}
		}
		if r, ok := safeReading(t); ok {
			out = append(out, r)
		}
		if r, ok := safeCall(t); ok {
			out = append(out, r)
		}
		return out
	})
}

// safeReading returns a request for the first resource that can be read.
func safeReading(t *check.T) (r safeRequest, ok bool) {
	if !t.Declares("resources") {
		return r, false
	}
	for _, resource := range offer.WalkOnce(t, offer.ResourcesList).Items() {
		uri := resource.Get("uri").String()
		if e, err := usage.ReadResource(t, uri).Get(); err == nil && check.IsComplete(t, e.Message) {
			return safeRequest{"resources/read of " + uri, "resources/read", check.Params{"uri": uri}}, true
		}
	}
	return r, false
}

// safeCall returns a call of the first tool that only reads and succeeds.
func safeCall(t *check.T) (r safeRequest, ok bool) {
	for _, tool := range offer.Tools(t) {
		args := offer.Arguments(t, tool, 1)
		if !offer.IsReadOnly(tool) || offer.RequiresTask(t, tool) || len(args) == 0 ||
			check.HasTrait(t, offer.SlowTool(tool)) {
			continue
		}
		params := offer.CallParams(tool, args[0])
		if r := t.Try("tools/call", params); r.Err == nil && check.Succeeded(t, r.Message) {
			return safeRequest{"tools/call of " + tool.Get("name").String(), "tools/call", params}, true
		}
	}
	return r, false
}

// post posts the request in the session of a user.
func (r safeRequest) post(t *check.T, edits ...check.Edit) attempt {
	return postMessage(t, r.what, t.Frame(t.NextID(), r.method, r.params), edits...)
}

// A scopeRefusal is a request that the server refused to a token with less scope.
type scopeRefusal struct {
	attempt
	request safeRequest // the zero value for the opening
}

// refuseScope is what helps where no request was refused for lack of scope.
const refuseScope = "refuse a token that lacks scope with status 403"

var scopeRefusalsKey = check.NewKey[[]scopeRefusal]("requests refused for lack of scope")

// scopeRefusals returns the requests that the server refuses to a token with less
// scope than the good one. If there are none the body ends.
func scopeRefusals(t *check.T) []scopeRefusal {
	requireProtected(t)
	narrow := t.Auth().Token(check.TokenNarrow)
	all := check.Once(t, scopeRefusalsKey, func() []scopeRefusal {
		if a := postOpening(t, "the first request", withToken(narrow)); !a.isServed() {
			return []scopeRefusal{{attempt: a}}
		}
		user, err := t.Sessions().TryUser(narrow)
		if err != nil {
			return nil
		}
		var out []scopeRefusal
		for _, r := range safeRequests(t) {
			if a := r.post(user); !a.isServed() {
				out = append(out, scopeRefusal{a, r})
			}
		}
		user.Sessions().CloseLater()
		return out
	})
	if len(all) == 0 {
		t.NotObserved("the server refused no request to a token with less scope",
			"give a narrow token that lacks the scope of a list, a resource or a read-only tool")
	}
	return all
}

// forbiddenRequests returns the requests that were refused with status 403. If there
// are none the body ends.
func forbiddenRequests(t *check.T) []scopeRefusal {
	out := slices.DeleteFunc(slices.Clone(scopeRefusals(t)), func(r scopeRefusal) bool {
		return r.exchange.Status != http.StatusForbidden
	})
	if len(out) == 0 {
		t.NotObserved("the server refused nothing with status 403", refuseScope)
	}
	return out
}
