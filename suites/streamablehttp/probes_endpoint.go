package streamablehttp

import (
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// endpointProbes returns the probes of basic/transports#streamable-http
// (basic/transports/streamable-http since 2026-07-28) and of its security warning on
// addresses.
func endpointProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.endpoint",
			Says:  "the server has one path that takes POST and, where the revision has it, GET",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"streamable-http-single-endpoint"},
			Idle:  "no POST was answered with a status of success",
			Hint:  "answer a POST with a status of success",
			// Whether a GET is answered with an event stream or 405 is judged by
			// streamable-http.get.answer.
			Probe: func(t *check.T) {
				x := posting.RequireServerStatus(t, t.HTTP().Post(posting.BarrierFrame(t)))
				match.Expect(t, x.Status).NotTo(match.BeStatus(http.StatusNotFound, http.StatusMethodNotAllowed),
					"%s was posted", t.Facts.BarrierMethod)
				if !t.Facts.Stateless {
					expectGetPath(t)
				}
				if !t.Facts.Stateless || posting.IsSuccess(x) {
					t.Saw()
				}
			},
		},
		{
			ID:    "streamable-http.get.answered",
			Says:  "the server answers a GET at once, so that clients know whether it opens a stream",
			Level: spec.Robust,
			In:    withSessions,
			Spec:  "basic/transports#listening-for-messages-from-the-server",
			Idle:  "no GET was sent in a session that is alive",
			Hint:  "serve the requests of a session after a GET",
			// No clause states when the answer begins: some servers send its head with the first
			// event only. What it is judges streamable-http.get.answer.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				x, err := b.TryRequest(http.MethodGet, posting.AcceptStream())
				if err == nil {
					x.Close()
					t.Saw()
					return
				}
				if after, why := b.TryPost(posting.BarrierFrame(t)); why == nil && posting.IsServed(t, after) {
					t.Fail("an event stream or status 405", err.Error(),
						"a GET got no answer, and %s was served after it: %v", t.Facts.BarrierMethod, err)
				}
			},
		},
		{
			ID:    "streamable-http.clients",
			Says:  "clients that use the same request ids at the same time get the answers to their own requests",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"streamable-http-multiple-clients"},
			Idle:  "no request was sent",
			// Under each id one client sends a request that is answered with a result, and the
			// other one that is answered with an error.
			Probe: func(t *check.T) {
				if t.Try("mcpcheck/no-such-method", nil).Succeeded() {
					t.NotObserved("an unknown method gets a result, so that the answers cannot be told apart",
						"answer an unknown method with an error")
				}
				first, second := openClient(t), openClient(t)
				defer first.End()
				defer second.End()
				requests := concurrentRequests(t, first, second)
				var postings []check.Posting
				for _, r := range requests {
					postings = append(postings, r.Posting)
				}
				for i, x := range t.HTTP().Together(postings) {
					expectOwnAnswer(t, requests[i], x)
				}
			},
		},
		{
			ID:    "streamable-http.bind.loopback",
			Says:  "a server that is used over the loopback interface listens on no other address of its machine",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"streamable-http-bind-localhost"},
			Idle:  "this machine has no address besides those of the loopback interface",
			Hint:  "run the server on a machine that has a network address besides the loopback one",
			// The request names the session and the host that the server knows. Another server
			// may listen at the address: only a result shows that it is the same one.
			Probe: func(t *check.T) {
				posting.RequireLoopback(t, "it may serve other machines")
				others := t.HTTP().Addresses()
				unclear := ""
				for _, address := range others[:min(len(others), posting.MaxAddresses)] {
					x, err := t.HTTP().PostAt(address, posting.BarrierFrame(t))
					switch {
					case posting.IsUnreachable(err):
						t.Saw()
					case err != nil:
						unclear = fmt.Sprintf("it is not known whether a server listens at %s: %v", address, err)
					case posting.IsServed(t, x):
						t.Fail("no connection", check.Describe(x),
							"the server answers at %s, which other machines reach", address)
					default:
						unclear = fmt.Sprintf("a server answers at %s with %s and may be another one", address,
							check.Describe(x))
					}
				}
				if unclear != "" {
					t.NotObserved(unclear, "listen on the loopback interface alone")
				}
			},
		},
	}
}

// expectGetPath fails the check if a GET of the path that takes POST is answered with
// 404 in a session that is alive. A missing answer, a refusal of access and a failure
// of the server say nothing about the path.
func expectGetPath(t *check.T) {
	b := posting.OpenSession(t)
	defer b.End()
	get, err := b.TryRequest(http.MethodGet, posting.AcceptStream())
	if err != nil {
		t.NotObserved("a GET was not answered: "+err.Error(), answerGet)
	}
	defer get.Close()
	switch status := get.Status; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status >= 500,
		posting.IsUnavailable(status):
		t.NotObserved("a GET was answered with "+check.Describe(get), answerGet)
	case status != http.StatusNotFound:
		return
	}
	if after, err := b.TryPost(posting.BarrierFrame(t)); err != nil || !posting.IsServed(t, after) {
		t.NotObserved("a GET was answered with "+check.Describe(get)+", and its session was not alive after it",
			"serve the requests of a session after a GET")
	}
	t.Fail("an event stream or status 405", check.Describe(get),
		"a GET of the path that takes POST was sent in a session that is alive")
}

// openClient opens a second session. A server of a single client opens none. One that
// has no room for it now may have some later.
func openClient(t *check.T) *posting.RawSession {
	b, why := posting.TryOpenSession(t)
	if why != "" {
		if b.Answer != nil {
			posting.RequireServerStatus(t, b.Answer)
			posting.EndIfPolling(t, b.Answer)
		}
		t.Fail("another session", why, "while one client has a session, a second one could open none: %s", why)
	}
	return b
}

// A clientRequest is a request of one of two clients.
type clientRequest struct {
	check.Posting
	message    wire.Message
	isValid    bool // it is answered with a result, and else with an error
	hasSession bool
}

// idsOfClients is how many ids both clients use.
const idsOfClients = 4

// concurrentRequests returns requests of two clients under the same ids. The ids are
// strings, so that they differ from those of other sessions.
func concurrentRequests(t *check.T, first, second *posting.RawSession) []clientRequest {
	var all []clientRequest
	for i := range idsOfClients {
		id := wire.StringID("mcpcheck-client-" + string(rune('a'+i)))
		for n, client := range []*posting.RawSession{first, second} {
			isValid := (i+n)%2 == 0
			raw := posting.BarrierFrame(t, id)
			if !isValid {
				raw = t.Frame(id, "mcpcheck/no-such-method", nil)
			}
			all = append(all, clientRequest{
				check.Posting{Raw: raw, Edits: client.Edits()}, wire.Parse([]byte(raw)), isValid, client.ID != "",
			})
		}
	}
	return all
}

// expectOwnAnswer fails the check unless a request got the answer to itself. A failure
// status may refuse an unknown method.
func expectOwnAnswer(t *check.T, r clientRequest, x *check.PendingExchange) {
	summary := r.message.Summary()
	if x == nil {
		t.Fail("an answer", "none", "%s of one of two clients was not answered", summary)
	}
	t.HTTP().Mark(x)
	switch {
	case posting.IsUnavailable(x.Status):
		t.NotObserved("the server has no room for so many requests at once: "+check.Describe(x),
			fmt.Sprintf("serve %d requests at once", 2*idsOfClients))
	case r.isValid && !r.hasSession && x.Status >= 400 && x.Status < 500 && !isMethodNotFound(t, x):
		t.NotObserved("without sessions the server does not distinguish the clients: requests with the same id were "+
			"answered with "+check.Describe(x), "give each client a session with an Mcp-Session-Id")
	case !r.isValid && !posting.IsSuccess(x):
		return
	}
	m, ok := t.HTTP().Response(x)
	if !ok {
		posting.EndIfPolling(t, x)
		t.Fail("an answer", check.Describe(x), "%s of one of two clients was not answered by a response", summary)
	}
	if !m.ID().Equal(r.message.ID()) || r.isValid != (m.Kind == wire.Result) {
		t.Fail("the answer to "+summary, m.Summary(), "%s of one of two clients got the answer to another request",
			summary)
	}
	t.Saw()
}

// isMethodNotFound reports whether an answer is the error for an unknown method.
func isMethodNotFound(t *check.T, x *check.PendingExchange) bool {
	m, _ := t.HTTP().Response(x)
	code, _ := m.ErrorCode()
	return code == spec.MethodNotFound
}
