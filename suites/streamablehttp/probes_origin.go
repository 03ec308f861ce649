package streamablehttp

import (
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// originProbes are the probes of basic/transports#security-warning
// (basic/transports/streamable-http#security-endpoint since 2026-07-28).
func originProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.origin.validated",
			Says:  "a server on the loopback interface processes nothing that a page of another site sends, as its Origin tells",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-validate-origin"},
			// originValidated: whether the names in Host are looked at, and who but other
			// sites is let in, is said by no clause, and noted.
			Probe: func(t *check.T) {
				s := fromOutside(t)
				for _, note := range s.notes {
					t.Note("%s", note)
				}
				wrong := 0
				for _, one := range s.all {
					if one.served {
						wrong++
					}
				}
				for _, one := range s.all {
					if one.served {
						t.HTTP().Mark(one.x)
						t.Fail("a refusal", one.told, "%s was served (%d of %d requests with a foreign Origin were)", one.what, wrong, len(s.all))
					}
				}
				if s.refused == 0 {
					t.NotObserved("no request with a foreign Origin was served or refused: "+s.all[0].told, "")
				}
			},
		},
		{
			ID:    "streamable-http.origin.forbidden",
			Says:  "what is refused for its Origin is refused with status 403",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-origin-403"},
			// originForbidden looks at what was refused; what was served is judged apart.
			Probe: func(t *check.T) {
				refused := 0
				for _, one := range fromOutside(t).all {
					switch {
					case !one.post || one.served, one.x != nil && posting.Unavailable(one.x.Status):
					case one.x == nil || one.x.Status != http.StatusForbidden:
						if one.x != nil {
							t.HTTP().Mark(one.x)
						}
						t.Fail("HTTP status 403", one.told, "%s was refused otherwise than with 403: %s", one.what, one.told)
					default:
						refused++
					}
				}
				if refused == 0 {
					t.NotObserved("no request was refused for its Origin", "")
				}
			},
		},
	}
}

// A stranger is a request as a page of another site could have a browser send
// it, and what came of it.
type stranger struct {
	what string // the request in words
	// post: a POST, of which the specification says how it is refused; GET and
	// DELETE need not be offered at all.
	post   bool
	x      *check.Exchange // nil if there was no answer
	served bool
	told   string
}

// strangers are requests with an Origin that is not the server's, and what was
// said to the same one without.
type strangers struct {
	welcome bool // without Origin it is served
	refused int  // with an Origin it was refused by a status of 4xx
	all     []stranger
	notes   []string // what no clause judges
}

var originsKey = check.NewKey[strangers]("origins")

// fromOutside returns what came of the requests, which are sent once.
func fromOutside(t *check.T) strangers {
	if !check.IsLoopback(t.HTTP().URL()) {
		t.NotObserved("the server is not spoken to over the loopback interface: whom else it lets in is for its operator to say", "give a URL with localhost or 127.0.0.1")
	}
	s := check.Once(t, originsKey, func() strangers { return callFromOutside(t) })
	if !s.welcome {
		t.NotObserved("a request without Origin is not served either", "")
	}
	return s
}

func callFromOutside(t *check.T) (s strangers) {
	port := t.HTTP().URL().Port()
	x, err := t.HTTP().TryPost(posting.Barrier(t))
	if s.welcome = err == nil && posting.Served(t, x); !s.welcome {
		return s
	}
	asResult := func(x *check.Exchange) bool { return posting.Served(t, x) }
	post := func(edits ...check.Edit) (*check.Exchange, error) {
		return t.HTTP().TryPost(posting.Barrier(t), edits...)
	}
	for _, origin := range posting.ForeignOrigins(port) {
		s.call("a POST of "+t.Facts.Barrier, origin, true, post, asResult)
	}
	if !t.Facts.Stateless {
		s.callSessions(t, posting.ForeignOrigins(port)[1])
	}
	for _, odd := range []struct {
		what string
		edit check.Edit
	}{
		{"Origin null", check.With("Origin", "null")},
		{"an Origin of another port of this machine", check.With("Origin", "http://localhost:1")},
		{"Host evil.example", check.Host("evil.example:" + port)},
		{"Host localhost.evil.example", check.Host("localhost.evil.example:" + port)},
	} {
		become := "refused"
		if x, err := post(odd.edit); err == nil && posting.Served(t, x) {
			become = "served"
		}
		s.notes = append(s.notes, "a request with "+odd.what+" is "+become)
	}
	return s
}

// call sends a request with an Origin and notes what came of it; ok tells
// whether an answer shows that it was processed.
func (s *strangers) call(what, origin string, post bool, send func(...check.Edit) (*check.Exchange, error), ok func(*check.Exchange) bool) {
	one := stranger{what: fmt.Sprintf("%s with Origin %s", what, origin), post: post}
	x, err := send(check.With("Origin", origin))
	if err != nil {
		one.told = err.Error()
	} else {
		one.x, one.served, one.told = x, ok(x), check.Describe(x)
		x.Close()
		if posting.IsRefusal(x.Status) {
			s.refused++
		}
	}
	s.all = append(s.all, one)
}

// callSessions opens, listens to and ends sessions, each from outside.
func (s *strangers) callSessions(t *check.T, evil string) {
	s.call("a POST of initialize", evil, true, func(edits ...check.Edit) (*check.Exchange, error) {
		return t.HTTP().TryPost(posting.Initializing(t), append(edits, check.Without(posting.SessionField), check.Without(posting.VersionField))...)
	}, func(x *check.Exchange) bool {
		ok := posting.Served(t, x)
		(&posting.Beside{T: t, Id: x.Header.Get(posting.SessionField)}).End()
		return ok
	})
	b := posting.OpenSession(t)
	defer b.End()
	s.call("a GET", evil, false, func(edits ...check.Edit) (*check.Exchange, error) {
		return b.TryAsk(http.MethodGet, append(edits, check.With("Accept", "text/event-stream"))...)
	}, func(x *check.Exchange) bool { return x.Status == http.StatusOK && x.Streams() })
	if b.Id != "" {
		s.call("a DELETE", evil, false, func(edits ...check.Edit) (*check.Exchange, error) {
			return b.TryAsk(http.MethodDelete, edits...)
		}, posting.Ok2xx)
	}
}
