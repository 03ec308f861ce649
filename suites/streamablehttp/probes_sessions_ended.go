package streamablehttp

import (
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// noSessionEnded is why the checks of ended sessions are not observed.
const (
	noSessionEnded = "no session was ended"
	allowDelete    = "let clients end sessions by DELETE"
	refuseEnded    = "refuse the requests of an ended session with status 404"
	answerEach     = "answer each request, at least with a status"
)

// endedSessionProbes returns the probes of basic/transports#session-management of
// requests that name an ended session. A session is known to be ended only after a
// DELETE that succeeded.
func endedSessionProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.session.ended",
			Says:  "the server processes no request with the id of an ended session",
			Level: spec.Must,
			// The statuses of refusals are judged by the other checks of ended sessions.
			Probe: func(t *check.T) {
				post := tryEndedSession(t).post.requireAnswer(t)
				if post.served {
					t.HTTP().Mark(post.x)
					t.Fail("HTTP status 404", check.Describe(post.x), "%s was processed", post.what)
				}
				t.Saw()
			},
		},
		{
			ID:    "streamable-http.session.ended.answered",
			Says:  "the server answers requests with the id of an ended session",
			Level: spec.Must,
			Probe: func(t *check.T) {
				e := tryEndedSession(t)
				for _, a := range []*sessionAnswer{e.post, e.get, e.delete} {
					switch {
					case a == nil:
					case a.x == nil:
						t.Fail("HTTP status 404", a.problem, "%s was not answered: %s", a.what, a.problem)
					default:
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "streamable-http.session.ended.status",
			Says:  "the server refuses requests with the id of an ended session with status 404",
			Level: spec.Must,
			Probe: func(t *check.T) {
				post := tryEndedSession(t).post.requireAnswer(t)
				if post.served {
					t.NotObserved(post.what+" was processed", refuseEnded)
				}
				t.HTTP().Mark(post.x)
				match.Expect(t, post.x.Status).To(match.BeStatus(http.StatusNotFound), "%s", post.what)
				t.Saw()
			},
		},
		{
			ID:    "streamable-http.session.ended.get",
			Says:  "the server answers a GET with the id of an ended session with status 404, if it opens streams",
			Level: spec.Must,
			Probe: func(t *check.T) {
				e := tryEndedSession(t)
				if e.get == nil {
					t.NotObserved("a GET before the end of the session opened no stream", expect.HintGetStream)
				}
				e.expectNotFound(t, e.get.requireAnswer(t))
				t.Saw()
			},
		},
		{
			ID:    "streamable-http.session.ended.delete",
			Says:  "the server answers a second DELETE of a session with status 404",
			Level: spec.Must,
			Probe: func(t *check.T) {
				e := tryEndedSession(t)
				e.expectNotFound(t, e.delete.requireAnswer(t))
				t.Saw()
			},
		},
	}
}

// A sessionAnswer is the answer to a request that names a session.
type sessionAnswer struct {
	what    string
	x       *check.PendingExchange // nil if no answer came
	problem string                 // why none came
	served  bool                   // it shows that the server processed the request
}

// requireAnswer ends the body unless the server itself answered.
func (a *sessionAnswer) requireAnswer(t *check.T) *sessionAnswer {
	if a.x == nil {
		t.NotObserved(a.what+" was not answered: "+a.problem, answerEach)
	}
	posting.RequireServerStatus(t, a.x)
	return a
}

// isRefusedLike reports whether two requests were refused with the same status.
func (a *sessionAnswer) isRefusedLike(b *sessionAnswer) bool {
	return a.x != nil && b.x != nil && !a.served && !b.served && a.x.Status == b.x.Status
}

// An endedSession holds the answers to requests that name a session after its end.
type endedSession struct {
	post, delete *sessionAnswer
	get          *sessionAnswer // nil if a GET opened no stream before
}

var endedSessionKey = check.NewKey[endedSession]("requests in an ended session")

// tryEndedSession opens a session, ends it and sends requests that name it, once at
// this revision.
func tryEndedSession(t *check.T) endedSession {
	return check.Once(t, endedSessionKey, func() endedSession {
		b := openIdentifiedSession(t)
		hasStream := opensStream(b)
		endSession(t, b)
		const when = " in a session that DELETE ended"
		e := endedSession{post: tryPost(t, b, t.Facts.BarrierMethod+" posted"+when)}
		if hasStream {
			e.get = tryGet(b, "a GET"+when)
		}
		e.delete = tryExchange("a DELETE"+when, func() (*check.PendingExchange, error) {
			return b.TryRequest(http.MethodDelete)
		})
		return e
	})
}

// tryPost posts a request in a session.
func tryPost(t *check.T, b *posting.RawSession, what string) *sessionAnswer {
	a := &sessionAnswer{what: what}
	if x, err := b.TryPost(posting.BarrierFrame(t)); err != nil {
		a.problem = err.Error()
	} else {
		a.x, a.served = x, posting.IsServed(t, x)
	}
	return a
}

// tryGet sends a GET in a session.
func tryGet(b *posting.RawSession, what string) *sessionAnswer {
	return tryExchange(what, func() (*check.PendingExchange, error) {
		return b.TryRequest(http.MethodGet, posting.AcceptStream())
	})
}

// tryExchange sends a request that a status of success shows to be processed.
func tryExchange(what string, send func() (*check.PendingExchange, error)) *sessionAnswer {
	a := &sessionAnswer{what: what}
	if x, err := send(); err != nil {
		a.problem = err.Error()
	} else {
		a.x, a.served = x, posting.IsSuccess(x)
		x.Close()
	}
	return a
}

// endSession ends a session by DELETE. Unless that succeeds the check is not observed.
func endSession(t *check.T, b *posting.RawSession) {
	x, err := b.TryRequest(http.MethodDelete)
	switch {
	case err != nil:
		t.NotObserved("a DELETE was not answered: "+err.Error(), allowDelete)
	case !posting.IsSuccess(x):
		t.NotObserved("the server does not let clients end sessions: DELETE was answered with "+check.Describe(x),
			allowDelete)
	}
}

// expectNotFound fails the check unless a GET or DELETE in an ended session was
// answered with 404. A session that serves a POST, or refuses one with the same wrong
// status, has one cause, which the checks of POST report.
func (e endedSession) expectNotFound(t *check.T, a *sessionAnswer) {
	if a.x.Status != http.StatusNotFound && (e.post.served || e.post.isRefusedLike(a)) {
		t.NotObserved(fmt.Sprintf("%s was answered with HTTP status %d", e.post.what, e.post.x.Status), refuseEnded)
	}
	t.HTTP().Mark(a.x)
	match.Expect(t, a.x.Status).To(match.BeStatus(http.StatusNotFound), "%s", a.what)
}
