package fault

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/authserver"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// Paths of the documents of authorization.
const (
	resourceMetadata = "/.well-known/oauth-protected-resource"
	serverMetadata   = "/.well-known/oauth-authorization-server"
)

// firstUser is the user whose session is open, and for whom faults take others.
const firstUser = authserver.FirstUser

// onGuard changes the guard of a server that requires an access token.
func onGuard(edit func(guard *server.AuthorizationOptions)) apply {
	return func(o *server.Options) {
		guard := *o.HTTP.Authorization
		edit(&guard)
		o.HTTP.Authorization = &guard
	}
}

// onAdmit decorates the decision which requests are admitted.
func onAdmit(decorate func(next server.Authorizer) server.Authorizer) apply {
	return onGuard(func(guard *server.AuthorizationOptions) { guard.Authorize = decorate })
}

// A decision changes what the server decided about a request: what it granted, or
// why it refused the request.
type decision = func(r *http.Request, g server.Grant, refusal *server.Refusal) (server.Grant, *server.Refusal)

// onDecision changes what the server decided about requests.
func onDecision(edit decision) apply {
	return onAdmit(func(next server.Authorizer) server.Authorizer {
		return func(r *http.Request) (server.Grant, *server.Refusal) {
			grant, refusal := next(r)
			return edit(r, grant, refusal)
		}
	})
}

// onRefusal changes the refusals of requests for one of the reasons.
func onRefusal(edit func(refusal *server.Refusal), reasons ...string) apply {
	return onDecision(func(_ *http.Request, g server.Grant, refusal *server.Refusal) (server.Grant, *server.Refusal) {
		if refusal != nil && slices.Contains(reasons, refusal.Reason) {
			edit(refusal)
		}
		return g, refusal
	})
}

// refuseWithStatus changes the status of refusals for one of the reasons.
func refuseWithStatus(status int, reasons ...string) apply {
	return onRefusal(func(refusal *server.Refusal) { refusal.Status = status }, reasons...)
}

// admitDespite admits requests that the server refuses for a reason and that match.
func admitDespite(reason string, matches func(r *http.Request, refusal *server.Refusal) bool) apply {
	return onDecision(func(r *http.Request, g server.Grant, refusal *server.Refusal) (server.Grant, *server.Refusal) {
		switch {
		case refusal == nil || refusal.Reason != reason || !matches(r, refusal):
			return g, refusal
		case refusal.Grant.Subject != "":
			return refusal.Grant, nil
		}
		return server.Grant{Subject: firstUser, Scopes: []string{server.ScopeAll}}, nil
	})
}

// anyRefusal matches all refused requests.
func anyRefusal(*http.Request, *server.Refusal) bool { return true }

// admitWithoutToken admits requests without a token that match.
func admitWithoutToken(matches httpMatcher) apply {
	return admitDespite(server.RefusedMissing, func(r *http.Request, _ *server.Refusal) bool { return matches(r) })
}

// unbind lets every user use what is bound to one user.
func unbind(what string) apply {
	return onGuard(func(guard *server.AuthorizationOptions) {
		guard.MayUse = func(next server.OwnerCheck) server.OwnerCheck {
			return func(kind, owner, caller string) bool { return kind == what || next(kind, owner, caller) }
		}
	})
}

// onChallenge changes the heads of answers that have a challenge.
func onChallenge(edit func(r *http.Request, status int, h http.Header) int) apply {
	return onHead(anyHTTP, func(r *http.Request, status int, h http.Header) int {
		if h.Get(challengeField) == "" {
			return status
		}
		return edit(r, status, h)
	})
}

// onChallengeText changes the challenges of answers with a status.
func onChallengeText(of int, edit func(challenge string) string) apply {
	return onChallenge(func(_ *http.Request, status int, h http.Header) int {
		if status == of {
			h.Set(challengeField, edit(h.Get(challengeField)))
		}
		return status
	})
}

// withoutParam returns a function that removes a parameter from a challenge.
func withoutParam(name string) func(challenge string) string {
	return func(challenge string) string {
		scheme, rest, _ := strings.Cut(challenge, " ")
		params := slices.DeleteFunc(strings.Split(rest, ", "), func(p string) bool {
			return strings.HasPrefix(p, name+"=")
		})
		return scheme + " " + strings.Join(params, ", ")
	}
}

// replaceInChallenge returns a function that replaces a text in a challenge once.
func replaceInChallenge(from, to string) func(challenge string) string {
	return func(challenge string) string { return strings.Replace(challenge, from, to, 1) }
}

// onUnauthorizedBody changes the bodies of answers that refuse requests without a
// token; m is the refused request.
func onUnauthorizedBody(body func(m wire.Message) server.Object) apply {
	isRefused := func(r *http.Request) bool {
		return r.URL.Path == "/mcp" && r.Header.Get("Authorization") == "" && posts(isMessage(wire.Request, ""))(r)
	}
	return whenHTTP(isRefused, func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		m, _ := posted(r)
		a := answerOf(next, r)
		a.setBody(wire.Encode(body(m)))
		a.send(w)
	})
}

// notFoundAt has nothing at the paths.
func notFoundAt(paths ...string) apply {
	return respondNotFound(func(r *http.Request) bool { return slices.Contains(paths, r.URL.Path) })
}
