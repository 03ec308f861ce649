package streamablehttp

import (
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// endpointProbes are the probes of the opening of basic/transports#streamable-http
// (basic/transports/streamable-http since 2026-07-28).
func endpointProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.endpoint",
			Says:  "one path takes POST and, where the revision has it, GET",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-single-endpoint"},
			// oneEndpoint: which of an event stream and 405 a GET gets is judged apart. That a
			// GET is not answered, or that access is denied to it or the server fails, proves
			// nothing of the path.
			Probe: func(t *check.T) {
				x := posting.SayingSomething(t, t.HTTP().Post(posting.Barrier(t)))
				if x.Status == http.StatusNotFound || x.Status == http.StatusMethodNotAllowed {
					t.Fail("an answer to "+t.Facts.Barrier, check.Describe(x), "a POST was answered with %s", check.Describe(x))
				}
				if t.Facts.Stateless {
					return
				}
				b := posting.OpenSession(t)
				defer b.End()
				get, err := b.TryAsk(http.MethodGet, check.With("Accept", "text/event-stream"))
				if err != nil {
					t.NotObserved("a GET was not answered: "+err.Error(), "")
				}
				defer get.Close()
				switch status := get.Status; {
				case status == http.StatusUnauthorized, status == http.StatusForbidden, status >= 500, posting.Unavailable(status):
					t.NotObserved("a GET was answered with "+check.Describe(get), "")
				case status != http.StatusNotFound:
					return
				}
				if after, err := b.TryPost(posting.Barrier(t)); err != nil || !posting.Served(t, after) {
					t.NotObserved("a GET was answered with "+check.Describe(get)+", and its session was not alive behind it", "")
				}
				t.Fail("an event stream or status 405", check.Describe(get), "a GET of the path that takes POST was answered with %s while its session was alive", check.Describe(get))
			},
		},
		{
			ID:    "streamable-http.clients",
			Says:  "clients that use the same request ids at the same time are each given the answers to their own requests",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-multiple-clients"},
			Probe: func(t *check.T) { severalClients(t) },
		},
		{
			ID:    "streamable-http.bind.loopback",
			Says:  "a server that is used over the loopback interface is not reached by other addresses of its machine",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-bind-localhost"},
			// boundToLoopback asks for the server at the other addresses of this machine, in
			// the session and under the name that it knows. Only its own result shows that it
			// is the same server.
			Probe: func(t *check.T) {
				others := t.HTTP().Addresses()
				switch {
				case !check.IsLoopback(t.HTTP().URL()):
					t.NotObserved("the server is not used over the loopback interface: it is not one for its own machine alone", "give a URL with localhost or 127.0.0.1")
				case len(others) == 0:
					t.NotObserved("this machine has no address besides those of the loopback interface", "")
				}
				unclear := ""
				for _, address := range others[:min(len(others), posting.MaxAddresses)] {
					x, err := t.HTTP().PostAt(address, posting.Barrier(t))
					switch {
					case posting.IsUnreachable(err): // nobody listens there
					case err != nil:
						unclear = fmt.Sprintf("whether somebody listens at %s is not known: %v", address, err)
					case posting.Served(t, x):
						t.Fail("no connection", check.Describe(x), "the server answers at %s too, where other machines reach it", address)
					default:
						unclear = fmt.Sprintf("something answers at %s, with %s: whether that is the server is not known", address, check.Describe(x))
					}
				}
				if unclear != "" {
					t.NotObserved(unclear, "")
				}
			},
		},
	}
}

// rounds is how many requests each client sends at once.
const rounds = 4

// severalClients has two clients send, under the same ids at the same time, one
// a request that is answered with a result and the other one that is answered
// with an error, turn and turn about: an answer that went to the wrong one is
// seen. The ids are text, so that they do not meet those of other sessions.
func severalClients(t *check.T) {
	one, other := secondClient(t), secondClient(t)
	defer one.End()
	defer other.End()
	var all []check.Posting
	var known []bool
	for i := range rounds {
		id := wire.StringID("mcpcheck-client-" + string(rune('a'+i)))
		for n, client := range []*posting.Beside{one, other} {
			good := (i+n)%2 == 0
			raw := posting.Barrier(t, id)
			if !good {
				raw = t.Frame(id, "mcpcheck/no-such-method", nil)
			}
			all = append(all, check.Posting{Raw: raw, Edits: client.Edits()})
			known = append(known, good)
		}
	}
	for i, x := range t.HTTP().Together(all) {
		asked := wire.Parse([]byte(all[i].Raw))
		if x == nil {
			t.Fail("an answer", "none", "%s of one of two clients was not answered", asked.Summary())
		}
		t.HTTP().Mark(x)
		switch {
		case posting.Unavailable(x.Status):
			t.NotObserved("the server has no room for so many requests at once: "+check.Describe(x), "")
		case known[i] && one.Id == "" && x.Status >= 400 && x.Status < 500 && !saysUnknown(t, x):
			t.NotObserved("without sessions the clients are one to the server, and requests that share an id were answered with "+check.Describe(x), "")
		case !known[i] && !posting.Ok2xx(x):
			continue // it was refused, in whatever words
		}
		m, ok := t.HTTP().Response(x)
		if !ok {
			posting.LeftToPoll(t, x)
		}
		switch {
		case !ok:
			t.Fail("an answer", check.Describe(x), "%s of one of two clients was answered with %s", asked.Summary(), check.Describe(x))
		case !m.ID().Equal(asked.ID()):
			t.Fail("the answer to "+asked.Summary(), m.Summary(), "%s of one of two clients was answered with %s", asked.Summary(), m.Summary())
		case known[i] != (m.Kind == wire.Result):
			t.Fail("the answer to "+asked.Summary(), m.Summary(), "%s was answered with %s, as the other client's request of that id should be", asked.Summary(), m.Summary())
		}
	}
}

// saysUnknown tells whether an answer is the error for a method that there is
// not.
func saysUnknown(t *check.T, x *check.Exchange) bool {
	m, _ := t.HTTP().Response(x)
	code, _ := m.Code()
	return code == spec.MethodNotFound
}

// secondClient opens a session beside the one that checks share, which a server
// of one client cannot. One that has no room just now may have some later.
func secondClient(t *check.T) *posting.Beside {
	b, why := posting.TryOpenSession(t)
	if why != "" {
		if b.Answer != nil {
			posting.SayingSomething(t, b.Answer)
			posting.LeftToPoll(t, b.Answer)
		}
		t.Fail("another session", why, "beside a client that has a session another one gets none: %s", why)
	}
	return b
}
