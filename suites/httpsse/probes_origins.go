package httpsse

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// originProbes returns the probes of what a server on the loopback interface accepts
// (basic/transports#security-warning-1 of 2024-11-05).
func originProbes() []check.Check {
	return []check.Check{
		{
			ID:    "http-sse.origin.stream",
			Says:  "a server on the loopback interface opens no stream for a GET with a foreign Origin",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-validate-origin"},
			Idle:  "no GET with a foreign Origin was answered with a stream or refused",
			Hint:  "refuse a GET of another site with a status of 4xx",
			Probe: func(t *check.T) {
				expectNoStream(t, foreignRequests(t))
				noteUnjudgedOrigins(t, func(e check.Edit) bool {
					c, _ := tryConnection(t, t.Timeout(), e)
					if c != nil {
						c.stream.Close()
					}
					return c != nil
				})
			},
		},
		{
			ID: "http-sse.origin.stream.rebound",
			Says: "a server on the loopback interface opens no stream for a GET with the Origin and Host of " +
				"another site",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-validate-origin"},
			Idle:  "no GET with the Origin and Host of another site was answered",
			Hint:  "refuse a GET of another site with a status of 4xx",
			Probe: func(t *check.T) { expectNoStream(t, reboundRequest(t)) },
		},
		{
			ID:    "http-sse.origin.post",
			Says:  "a server on the loopback interface processes no message that is posted with a foreign Origin",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-validate-origin"},
			Idle:  "no POST with a foreign Origin was answered",
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				expectNoAnswers(t, foreignRequests(t))
				c := openConnection(t)
				defer c.stream.Close()
				noteUnjudgedOrigins(t, func(e check.Edit) bool {
					x, err := t.HTTP().TryPost(posting.BarrierFrame(t), e, check.At(c.endpoint))
					return err == nil && posting.IsSuccess(x)
				})
			},
		},
		{
			ID: "http-sse.origin.post.rebound",
			Says: "a server on the loopback interface processes no message that is posted with the Origin and " +
				"Host of another site",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-validate-origin"},
			Idle:  "no POST with the Origin and Host of another site was answered",
			Hint:  expect.HintReply,
			Probe: func(t *check.T) { expectNoAnswers(t, reboundRequest(t)) },
		},
		{
			ID:    "http-sse.bind.loopback",
			Says:  "a server that is used over the loopback interface listens on no other address of its machine",
			Level: spec.Should,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-bind-localhost"},
			Idle:  "this machine has no address besides those of the loopback interface",
			Hint:  "run the server on a machine that has a network address besides the loopback one",
			// Another server may listen at the address: only an answer on the stream of the
			// connection shows that the same server takes the message.
			Probe: func(t *check.T) {
				posting.RequireLoopback(t, posting.OperatorDecidesOrigins)
				others := t.HTTP().Addresses()
				if len(others) == 0 {
					return
				}
				c := openConnection(t)
				defer c.stream.Close()
				c.initialize()
				unclear := ""
				for i, address := range others[:min(len(others), posting.MaxAddresses)] {
					id := wire.StringID(fmt.Sprintf("mcpcheck-elsewhere-%d", i))
					x, err := t.HTTP().PostAt(address, posting.BarrierFrame(t, id), check.At(c.endpoint))
					switch {
					case posting.IsUnreachable(err):
						t.Saw()
						continue
					case err != nil:
						unclear = fmt.Sprintf("it is not known whether a server listens at %s: %v", address, err)
						continue
					}
					c.settle()
					if slices.ContainsFunc(c.stream.Snapshot().Messages(), check.ResponseTo(id)) {
						t.Fail("no connection", check.Describe(x),
							"the server takes messages at %s, which other machines reach", address)
					}
					unclear = fmt.Sprintf("a server answers at %s with %s and may be another one", address,
						check.Describe(x))
				}
				if unclear != "" {
					t.NotObserved(unclear, "listen on the loopback interface alone")
				}
			},
		},
	}
}

// A foreignRequest is how a page of another site has a browser change a request.
type foreignRequest struct {
	what  string
	edits []check.Edit
}

// foreignRequests returns origins of other sites, also such as a careless comparison
// takes for the server's: with its port, and with its name at the beginning or at
// the end.
func foreignRequests(t *check.T) []foreignRequest {
	var out []foreignRequest
	for _, origin := range posting.ForeignOrigins(t.HTTP().URL().Port()) {
		out = append(out, foreignRequest{"Origin " + origin, []check.Edit{check.With("Origin", origin)}})
	}
	return out
}

// reboundRequest returns the request of a page whose name was rebound to the server's
// address, so that it is in Host too.
func reboundRequest(t *check.T) []foreignRequest {
	rebound := "evil.example"
	if port := t.HTTP().URL().Port(); port != "" {
		rebound += ":" + port
	}
	edits := []check.Edit{check.With("Origin", "http://"+rebound), check.Host(rebound)}
	return []foreignRequest{{"Origin and Host " + rebound, edits}}
}

// expectNoStream fails the check if a GET of another site opens a stream, where a GET
// without Origin does.
func expectNoStream(t *check.T, requests []foreignRequest) {
	posting.RequireLoopback(t, posting.OperatorDecidesOrigins)
	openConnection(t).stream.Close()
	for _, r := range requests {
		x, err := t.HTTP().TryRequest(http.MethodGet, append(r.edits, posting.AcceptStream())...)
		if err != nil {
			continue
		}
		x.Close()
		if posting.IsSuccess(x) && x.IsEventStream() {
			t.Fail("a refusal", check.Describe(x), "a GET with %s was answered with a stream", r.what)
		}
		if posting.IsRefusal(x.Status) {
			t.Saw()
		}
	}
}

// expectNoAnswers fails the check if a message that is posted from another site is
// answered. The connection is opened without Origin: a page that has learnt the endpoint
// could post to it. Only an answer on the stream shows that a message was processed, and
// the answer to a later request that none is on its way.
func expectNoAnswers(t *check.T, requests []foreignRequest) {
	posting.RequireLoopback(t, posting.OperatorDecidesOrigins)
	c := openConnection(t)
	defer c.stream.Close()
	c.initialize()
	answered := false
	posted := map[string]string{} // what a failure says, by id
	for i, r := range requests {
		id := wire.StringID(fmt.Sprintf("mcpcheck-foreign-%d", i))
		status := "no answer"
		if x, err := t.HTTP().TryPost(posting.BarrierFrame(t, id),
			append(r.edits, check.At(c.endpoint))...); err == nil {
			status, answered = check.Describe(x), true
		}
		posted[id.Key()] = fmt.Sprintf("a POST with %s was processed and answered with %s", r.what, status)
	}
	settled := c.settle()
	for _, m := range c.stream.Snapshot().Messages() {
		if what, ok := posted[m.ID().Key()]; ok && m.IsResponse() {
			t.Fail("a refusal", m.Summary(), "%s", what)
		}
	}
	if answered && settled {
		t.Saw()
	}
}

// noteUnjudgedOrigins notes which requests are served that no clause judges: those
// with a foreign Host alone, and those with an Origin that may or may not be meant.
func noteUnjudgedOrigins(t *check.T, served func(check.Edit) bool) {
	for _, c := range append(posting.UnclearOrigins(), posting.HeaderChange{
		What: "a foreign Host and no Origin", Edit: check.Host("evil.example:" + t.HTTP().URL().Port()),
	}) {
		if served(c.Edit) {
			t.Note("a request with %s is served", c.What)
		}
	}
}
