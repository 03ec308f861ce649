package streamablehttp

import (
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

const (
	sessionManagement  = "basic/transports#session-management"
	refuseUnknown      = "refuse a request with an unknown session id with status 404"
	noUnknownSessionID = "no request named a session that the server did not open"
)

// unknownSessionProbes returns the probes of requests that name a session which the
// server did not open. No clause states how they are answered: 404 is due only to a
// session that was terminated. But a server that restarts or forgets has terminated its
// sessions, and cannot tell their ids from others.
func unknownSessionProbes() []check.Check {
	return []check.Check{
		{
			ID: "streamable-http.session.unknown",
			Says: "a server that requires a session processes no request with a session id that it did not give, " +
				"which opens no session and bypasses initialize",
			Level: spec.Robust,
			Probe: func(t *check.T) {
				u := tryUnknownSessions(t)
				for _, a := range []*sessionAnswer{u.similar, u.other} {
					switch {
					case a == nil, a.x == nil, posting.IsUnavailable(a.x.Status):
					case a.served:
						t.HTTP().Mark(a.x)
						t.Fail("HTTP status 404", check.Describe(a.x), "%s was processed", a.what)
					default:
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "streamable-http.session.unknown.answered",
			Says:  "the server answers requests with a session id that it did not give, so that clients do not wait",
			Level: spec.Robust,
			Probe: func(t *check.T) {
				u := tryUnknownSessions(t)
				for _, a := range []*sessionAnswer{u.similar, u.other} {
					switch {
					case a == nil:
					case a.x != nil:
						t.Saw()
					case u.ended.post != nil && u.ended.post.x == nil:
						t.NotObserved(u.ended.post.what+" was not answered either", answerEach)
					default:
						t.Fail("HTTP status 404", a.problem, "%s was not answered: %s", a.what, a.problem)
					}
				}
			},
		},
		{
			ID: "streamable-http.session.unknown.status",
			Says: "the server refuses a request with a session id that it does not know with status 404, " +
				"the only one after which clients open a new session",
			Level: spec.Robust,
			// Only an id of the server's own form is one that it may have given and forgotten.
			// 401 and 403 are about the client.
			Probe: func(t *check.T) {
				u := tryUnknownSessions(t)
				if u.similar == nil {
					t.NotObserved("the ids of the server are too short to make another one like them",
						"give sessions longer ids")
				}
				a := u.similar.requireAnswer(t)
				switch {
				case a.served:
					t.NotObserved(a.what+" was processed", refuseUnknown)
				case a.x.Status == http.StatusUnauthorized, a.x.Status == http.StatusForbidden:
					t.NotObserved(a.what+" was answered with "+check.Describe(a.x), refuseUnknown)
				case a.x.Status != http.StatusNotFound && u.ended.post != nil && u.ended.post.isRefusedLike(a):
					t.NotObserved(u.ended.post.what+" was refused with the same status", refuseUnknown)
				}
				t.HTTP().Mark(a.x)
				match.Expect(t, a.x.Status).To(match.BeStatus(http.StatusNotFound), "%s", a.what)
				t.Saw()
			},
		},
		{
			ID: "streamable-http.session.unknown.get",
			Says: "a server that requires a session opens no stream, on which no message would come, " +
				"for a GET with a session id that it did not give",
			Level: spec.Robust,
			Probe: func(t *check.T) {
				u := tryUnknownSessions(t)
				if u.get == nil {
					t.NotObserved("a GET in a session that is open opened no stream, or the ids are too short",
						"open a stream at a GET, and give sessions longer ids")
				}
				a := u.get.requireAnswer(t)
				switch {
				case a.served && u.similar.served:
					t.NotObserved(u.similar.what+" was processed", refuseUnknown)
				case a.served && u.ended.get != nil && u.ended.get.served:
					t.NotObserved(u.ended.get.what+" opened a stream too", refuseEnded)
				case a.served:
					t.HTTP().Mark(a.x)
					t.Fail("HTTP status 404", check.Describe(a.x), "%s opened a stream", a.what)
				}
				t.Saw()
			},
		},
		{
			ID: "streamable-http.session.ignored",
			Says: "a server that gives no session ids serves a request with one, " +
				"which clients send that had a session before it was replaced",
			Level: spec.Robust,
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				if b.ID != "" {
					t.NotApplicable("the server gives its sessions an id")
				}
				if x := b.Post(posting.BarrierFrame(t)); !posting.IsServed(t, x) {
					t.NotObserved("a request without a session id was answered with "+check.Describe(x),
						"answer "+t.Facts.BarrierMethod+" with a result")
				}
				x := b.Post(posting.BarrierFrame(t), check.With(posting.SessionField, formerSessionID))
				if posting.RequireServerStatus(t, x); !posting.IsServed(t, x) {
					posting.EndIfPolling(t, x)
					t.Fail("a result", check.Describe(x), "%s with MCP-Session-Id: %s was posted, and the server gave "+
						"no session id", t.Facts.BarrierMethod, formerSessionID)
				}
				t.Saw()
			},
		},
	}
}

// Session ids that no server has given: one as many servers make them, and one that
// resembles none.
const (
	formerSessionID  = "6f1cbb1e-0d4e-4c1b-9f3a-2b7d1c5e8a90"
	unknownSessionID = "mcpcheck-no-such-session"
)

// unknownSessions holds the answers to requests that name sessions which the server
// did not open.
type unknownSessions struct {
	similar *sessionAnswer // to a POST with an id of the form of the server's; nil if there is no such id
	other   *sessionAnswer // to a POST with an id of another form
	get     *sessionAnswer // to a GET with the similar id; nil if a GET opens no stream in an open session
	ended   endedSession   // the answers in an ended session; empty if none could be ended
}

var unknownSessionsKey = check.NewKey[unknownSessions]("requests in unknown sessions")

// tryUnknownSessions sends requests with session ids that the server did not give, once
// at this revision. The checks do not apply to a server that serves requests without a
// session id.
func tryUnknownSessions(t *check.T) unknownSessions {
	return check.Once(t, unknownSessionsKey, func() (u unknownSessions) {
		b := openIdentifiedSession(t)
		defer b.End()
		if x, err := b.TryPost(posting.BarrierFrame(t), check.Without(posting.SessionField)); err == nil &&
			posting.IsServed(t, x) {
			t.NotApplicable("the server serves requests without a session id")
		}
		check.Attempt(t, func(t *check.T) { u.ended = tryEndedSession(t) })
		const posted = " posted with a session id that the server did not give"
		u.other = tryPost(t, &posting.RawSession{T: t, ID: unknownSessionID}, t.Facts.BarrierMethod+posted)
		id, ok := similarID(b.ID)
		if !ok {
			return u
		}
		similar := &posting.RawSession{T: t, ID: id}
		u.similar = tryPost(t, similar, t.Facts.BarrierMethod+posted)
		if u.ended.get != nil || u.ended.post == nil && opensStream(b) {
			u.get = tryGet(similar, "a GET with a session id that the server did not give")
		}
		return u
	})
}

// opensStream reports whether a GET in a session opens a stream.
func opensStream(b *posting.RawSession) bool {
	x, err := b.TryRequest(http.MethodGet, posting.AcceptStream())
	if err != nil {
		return false
	}
	defer x.Close()
	return x.Status == http.StatusOK && x.IsEventStream()
}

// changedCharacters is how many letters and digits of a session id are changed, so that
// the result is not the id of another session even if a server counts them.
const changedCharacters = 8

// similarID returns an id of the form of another one; ok is false if that is too short.
// Its last letters and digits are replaced by others of the same kind.
func similarID(id string) (similar string, ok bool) {
	out := []byte(id)
	changed := 0
	for i := len(out) - 1; i >= 0 && changed < changedCharacters; i-- {
		for _, kind := range []string{
			"0123456789", "abcdef", "ABCDEF", "ghijklmnopqrstuvwxyz", "GHIJKLMNOPQRSTUVWXYZ",
		} {
			if at := strings.IndexByte(kind, out[i]); at >= 0 {
				out[i] = kind[(at+len(kind)/2)%len(kind)]
				changed++
				break
			}
		}
	}
	return string(out), changed == changedCharacters
}
