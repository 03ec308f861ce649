package streamablehttp

import (
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// originProbes returns the probes of the Origin field of
// basic/transports#security-warning
// (basic/transports/streamable-http#security-endpoint since 2026-07-28).
func originProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.origin.validated",
			Says:  "a server on the loopback interface processes no request with a foreign Origin",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"streamable-http-validate-origin"},
			Idle:  "no request with a foreign Origin was served or refused",
			Hint:  "refuse a POST with a foreign Origin with status 403",
			// No clause states which names the server accepts in Host, or whether it accepts
			// an Origin that is no other site's: that is noted.
			Probe: func(t *check.T) {
				trial := tryOrigins(t)
				for _, note := range trial.notes {
					t.Note("%s", note)
				}
				var served []originRequest
				for _, r := range trial.requests {
					if r.served {
						served = append(served, r)
					}
				}
				if len(served) > 0 {
					t.HTTP().Mark(served[0].x)
					t.Fail("a refusal", served[0].answer,
						"%s was served (%d of %d requests with a foreign Origin were)",
						served[0].what, len(served), len(trial.requests))
				}
				for _, r := range trial.requests {
					if r.x != nil && posting.IsRefusal(r.x.Status) {
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "streamable-http.origin.rebound",
			Says:  "a server on the loopback interface processes no request with the Origin and Host of another site",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"streamable-http-validate-origin"},
			Idle:  "no request with the Origin and Host of another site was answered",
			Hint:  "refuse a POST with a foreign Origin with status 403",
			// A browser sends such a request to a name that was rebound to the address of the
			// server, which is the attack that the clause is about. A server that validates
			// either field refuses it; streamable-http.origin.validated judges Origin alone.
			Probe: func(t *check.T) {
				r := tryOrigins(t).rebound
				if r.x == nil {
					t.NotObserved(r.what+" was not answered: "+r.answer, "refuse it with status 403")
				}
				t.HTTP().Mark(r.x)
				posting.RequireServerStatus(t, r.x)
				if r.served {
					t.Fail("a refusal", r.answer, "%s was served", r.what)
				}
				t.Saw()
			},
		},
		{
			ID:    "streamable-http.origin.forbidden",
			Says:  "the server refuses a request for its Origin with status 403",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"streamable-http-origin-403"},
			Idle:  "no request was refused for its Origin",
			Hint:  "refuse a POST with a foreign Origin with status 403",
			// A request that was served is judged by streamable-http.origin.validated. GET and
			// DELETE need not be offered at all.
			Probe: func(t *check.T) {
				for _, r := range tryOrigins(t).requests {
					switch {
					case !r.isPost || r.served, r.x != nil && posting.IsUnavailable(r.x.Status):
					case r.x == nil:
						t.Fail("HTTP status 403", r.answer, "%s was not answered: %s", r.what, r.answer)
					case r.x.Status != http.StatusForbidden:
						t.HTTP().Mark(r.x)
						t.Fail("HTTP status 403", r.answer, "%s was refused with another status", r.what)
					default:
						t.Saw()
					}
				}
			},
		},
	}
}

// An originRequest is a request as a page of another site has a browser send it, and
// how it was answered.
type originRequest struct {
	what   string
	isPost bool
	x      *check.PendingExchange // nil if there is no answer
	served bool
	answer string // in words
}

// An originTrial holds requests with foreign origins, if the same request is served
// without Origin.
type originTrial struct {
	servedWithout bool
	requests      []originRequest
	rebound       originRequest // with the Host of the other site too
	notes         []string      // what no clause judges
}

var originTrialKey = check.NewKey[originTrial]("foreign origins")

// tryOrigins sends requests with foreign origins, once at this revision. The check is
// not observed unless the server is used over the loopback interface and serves the
// same request without Origin.
func tryOrigins(t *check.T) originTrial {
	posting.RequireLoopback(t, posting.OperatorDecidesOrigins)
	trial := check.Once(t, originTrialKey, func() originTrial {
		var o originTrial
		x, err := t.HTTP().TryPost(posting.BarrierFrame(t))
		if o.servedWithout = err == nil && posting.IsServed(t, x); o.servedWithout {
			o.send(t)
		}
		return o
	})
	if !trial.servedWithout {
		t.NotObserved("a request without Origin is not served either", "serve a request without Origin")
	}
	return trial
}

// send sends the requests.
func (o *originTrial) send(t *check.T) {
	port := t.HTTP().URL().Port()
	post := func(edit check.Edit) (*check.PendingExchange, error) {
		return t.HTTP().TryPost(posting.BarrierFrame(t), edit)
	}
	isServed := func(x *check.PendingExchange) bool { return posting.IsServed(t, x) }
	for _, origin := range posting.ForeignOrigins(port) {
		o.try("a POST of "+t.Facts.BarrierMethod, origin, true, post, isServed)
	}
	rebound := "evil.example:" + port
	o.rebound = tryOrigin("a POST of "+t.Facts.BarrierMethod+" with Host "+rebound+" and", "http://"+rebound, true,
		func(edit check.Edit) (*check.PendingExchange, error) {
			return t.HTTP().TryPost(posting.BarrierFrame(t), edit, check.Host(rebound))
		}, isServed)
	if !t.Facts.Stateless {
		o.trySessions(t, posting.ForeignOrigins(port)[1])
	}
	for _, c := range append(posting.UnclearOrigins(),
		posting.HeaderChange{What: "Host evil.example", Edit: check.Host("evil.example:" + port)},
		posting.HeaderChange{What: "Host localhost.evil.example", Edit: check.Host("localhost.evil.example:" + port)},
	) {
		result := "refused"
		if x, err := post(c.Edit); err == nil && posting.IsServed(t, x) {
			result = "served"
		}
		o.notes = append(o.notes, "a request with "+c.What+" is "+result)
	}
}

// try sends a further request with an Origin.
func (o *originTrial) try(what, origin string, isPost bool,
	send func(check.Edit) (*check.PendingExchange, error), isServed func(*check.PendingExchange) bool) {
	o.requests = append(o.requests, tryOrigin(what+" with", origin, isPost, send, isServed))
}

// tryOrigin sends a request with an Origin; isServed reports whether an answer shows
// that it was processed.
func tryOrigin(what, origin string, isPost bool,
	send func(check.Edit) (*check.PendingExchange, error), isServed func(*check.PendingExchange) bool) originRequest {
	r := originRequest{what: fmt.Sprintf("%s Origin %s", what, origin), isPost: isPost}
	x, err := send(check.With("Origin", origin))
	if err != nil {
		r.answer = err.Error()
	} else {
		r.x, r.served, r.answer = x, isServed(x), check.Describe(x)
		x.Close()
	}
	return r
}

// trySessions opens a session, opens a stream and ends a session with an Origin.
func (o *originTrial) trySessions(t *check.T, origin string) {
	o.try("a POST of initialize", origin, true, func(edit check.Edit) (*check.PendingExchange, error) {
		return t.HTTP().TryPost(posting.InitializeFrame(t), edit,
			check.Without(posting.SessionField), check.Without(posting.VersionField))
	}, func(x *check.PendingExchange) bool {
		isServed := posting.IsServed(t, x)
		(&posting.RawSession{T: t, ID: x.Header.Get(posting.SessionField)}).End()
		return isServed
	})
	b := posting.OpenSession(t)
	defer b.End()
	o.try("a GET", origin, false, func(edit check.Edit) (*check.PendingExchange, error) {
		return b.TryRequest(http.MethodGet, edit, posting.AcceptStream())
	}, func(x *check.PendingExchange) bool { return x.Status == http.StatusOK && x.IsEventStream() })
	if b.ID != "" {
		o.try("a DELETE", origin, false, func(edit check.Edit) (*check.PendingExchange, error) {
			return b.TryRequest(http.MethodDelete, edit)
		}, posting.IsSuccess)
	}
}
