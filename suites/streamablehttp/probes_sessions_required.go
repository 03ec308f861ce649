package streamablehttp

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// noneWithoutSession is why the checks of required session ids are not observed.
const noneWithoutSession = "no request without a session id was answered"

// requiredSessionProbes returns the probes of basic/transports#session-management of
// requests without a session id.
func requiredSessionProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.session.required",
			Says:  "a server that requires a session id answers requests without one with status 400",
			Level: spec.Should,
			Probe: func(t *check.T) {
				a := requireSessionID(t).post.requireAnswer(t)
				t.HTTP().Mark(a.x)
				match.Expect(t, a.x.Status).To(match.BeStatus(http.StatusBadRequest), "%s", a.what)
				t.Saw()
			},
		},
		{
			ID:    "streamable-http.session.required.notification",
			Says:  "a server that requires a session id answers notifications without one with status 400",
			Level: spec.Should,
			Probe: func(t *check.T) {
				r := requireSessionID(t)
				r.expectRefused(t, r.notification, http.StatusBadRequest)
			},
		},
		{
			ID:    "streamable-http.session.required.get",
			Says:  "a server that requires a session id and opens streams answers a GET without one with status 400",
			Level: spec.Should,
			// 405 says that the server opens no stream without a session.
			Probe: func(t *check.T) {
				r := requireSessionID(t)
				if r.get == nil {
					t.NotObserved("a GET with a session id opened no stream", expect.HintGetStream)
				}
				r.expectRefused(t, r.get, http.StatusBadRequest, http.StatusMethodNotAllowed)
			},
		},
		{
			ID:    "streamable-http.session.required.delete",
			Says:  "a server that requires a session id answers a DELETE without one with status 400",
			Level: spec.Should,
			// A server may answer any DELETE with 405.
			Probe: func(t *check.T) {
				r := requireSessionID(t)
				r.expectRefused(t, r.delete, http.StatusBadRequest, http.StatusMethodNotAllowed)
			},
		},
	}
}

// requiredSession holds the answers to requests without a session id.
type requiredSession struct {
	post, notification, delete *sessionAnswer
	get                        *sessionAnswer // nil if a GET with a session id opens no stream
}

var requiredSessionKey = check.NewKey[requiredSession]("requests without a session id")

// requireSessionID sends requests without a session id, once at this revision. The
// checks do not apply to a server that serves them, or gives no session ids.
func requireSessionID(t *check.T) requiredSession {
	r := check.Once(t, requiredSessionKey, func() (r requiredSession) {
		b := openIdentifiedSession(t)
		defer b.End()
		const without = " without MCP-Session-Id"
		none := &posting.RawSession{T: t}
		if r.post = tryPost(t, none, t.Facts.BarrierMethod+" posted"+without); r.post.served {
			return r
		}
		r.notification = tryExchange("a notification posted"+without, func() (*check.PendingExchange, error) {
			return none.TryPost(posting.InitializedFrame)
		})
		if opensStream(b) {
			r.get = tryGet(none, "a GET"+without)
		}
		r.delete = tryExchange("a DELETE"+without, func() (*check.PendingExchange, error) {
			return none.TryRequest(http.MethodDelete)
		})
		return r
	})
	if r.post.served {
		t.NotApplicable("the server serves requests without a session id")
	}
	return r
}

// expectRefused fails the check unless a message or request was refused with one of the
// statuses. The same wrong status as that of a POST of a request has one cause, which
// streamable-http.session.required reports.
func (r requiredSession) expectRefused(t *check.T, a *sessionAnswer, statuses ...int) {
	a.requireAnswer(t)
	if !slices.Contains(statuses, a.x.Status) && r.post.x != nil && r.post.x.Status == a.x.Status {
		t.NotObserved(r.post.what+" was answered with the same status",
			"refuse a request without a session id with status 400")
	}
	t.HTTP().Mark(a.x)
	match.Expect(t, a.x.Status).To(match.BeStatus(statuses...), "%s", a.what)
	t.Saw()
}
