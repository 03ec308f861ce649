package streamablehttp

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// statelessProbes returns the probes of what streamable HTTP has only since
// 2026-07-28 (basic/transports/streamable-http#earlier-streamable-http-revisions): no
// sessions, no stream of GET and no resumption.
func statelessProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.method.unknown",
			Says:  "the server answers an unknown method with status 404",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"streamable-http-unknown-method-404"},
			Idle:  "no request of an unknown method was sent",
			Hint:  "answer an unknown method with error -32601",
			// That the answer is error -32601 is judged by the checks of JSON-RPC.
			Probe: func(t *check.T) {
				a := posting.RequireAvailable(t, posting.Posting{Method: "mcpcheck/no-such-method"}.Post(t))
				if code, _ := a.Answer.ErrorCode(); code != spec.MethodNotFound {
					t.NotObserved("an unknown method was answered with "+check.Describe(a.PendingExchange)+
						", not with error -32601", "")
				}
				match.Expect(t, a.Status).To(match.BeStatus(http.StatusNotFound),
					"an unknown method was answered with error -32601")
				t.Saw()
			},
		},
		{
			ID:    "streamable-http.get-delete.status",
			Says:  "a server without handshake revisions answers GET and DELETE with status 405",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"streamable-http-get-delete-405"},
			Idle:  "no GET or DELETE was sent",
			Hint:  "answer GET and DELETE with status 405",
			Probe: func(t *check.T) {
				requireStatelessOnly(t)
				for _, method := range []string{http.MethodGet, http.MethodDelete} {
					x := t.HTTP().Request(method, posting.AcceptStream())
					x.Close()
					if posting.IsUnavailable(x.Status) || x.Status == http.StatusUnauthorized ||
						x.Status == http.StatusForbidden {
						t.NotObserved(method+" was answered with "+check.Describe(x), "")
					}
					match.Expect(t, x.Status).To(match.BeStatus(http.StatusMethodNotAllowed), "a %s was sent", method)
					t.Saw()
				}
			},
		},
		{
			ID:    "streamable-http.session.none",
			Says:  "the server opens no session, and ignores Mcp-Session-Id if it has no handshake revisions",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"streamable-http-session-header-ignored"},
			Idle:  "no request was answered",
			Hint:  expect.HintReply,
			// A server that has handshake revisions too may look for the session that a request
			// names, and serves a request that names none without a session
			// (basic/versioning#backward-compatibility-with-initialization-based-versions).
			Probe: func(t *check.T) {
				named := check.With(posting.SessionField, "mcpcheck-no-such-session")
				variants := [][]check.Edit{nil, {named}}
				if posting.ProbeHandshake(t).Served {
					variants = variants[:1]
					a := posting.Discovery.Post(t, named)
					if !a.IsServed() || a.Header.Get(posting.SessionField) != "" {
						t.Note("a request that names a session is answered with %s", check.Describe(a.PendingExchange))
					}
				} else {
					posting.ExpectServed(t, "with an Mcp-Session-Id", posting.Discovery, named)
				}
				for _, edits := range variants {
					for _, p := range append([]posting.Posting{posting.Discovery}, posting.TryNamedPostings(t)...) {
						id := posting.RequireAvailable(t, p.Post(t, edits...)).Header.Get(posting.SessionField)
						if id != "" {
							t.Fail("no Mcp-Session-Id", "Mcp-Session-Id: "+wire.Clip(id, 80),
								"the answer to %s has an Mcp-Session-Id", p)
						}
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "streamable-http.event.id.ignored",
			Says:  "a server without handshake revisions ignores Last-Event-ID on a request",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"streamable-http-last-event-id-ignored"},
			Idle:  "no request was sent",
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				requireStatelessOnly(t)
				posting.ExpectServed(t, "with a Last-Event-ID", posting.Discovery,
					check.With("Last-Event-ID", "mcpcheck-1"))
				t.Saw()
			},
		},
		{
			ID:    "streamable-http.stream.resumed",
			Says:  "a server without handshake revisions resumes no stream on a GET with Last-Event-ID",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"streamable-http-no-resumption"},
			Idle:  "no GET was sent",
			Hint:  expect.HintReply,
			// The GET names the first event with an id, or an event that does not exist. The
			// answer to a later request ends the wait for messages on a stream that is opened
			// all the same.
			Probe: func(t *check.T) {
				requireStatelessOnly(t)
				x := streamedAnswer(t)
				id := "mcpcheck-0"
				events := x.Snapshot().Events()
				isIdentified := func(e wire.Entry) bool { return e.EventID() != "" }
				if at := slices.IndexFunc(events, isIdentified); at >= 0 {
					id = events[at].EventID()
				}
				x.Close()
				resumed := t.HTTP().Request(http.MethodGet, posting.AcceptStream(), check.With("Last-Event-ID", id))
				defer resumed.Close()
				posting.Discovery.Post(t)
				if all := resumed.Snapshot().Messages(); resumed.IsEventStream() && len(all) > 0 {
					t.Fail("HTTP status 405", check.Describe(resumed),
						"a GET with Last-Event-ID: %s was answered with a stream that holds %s", wire.Clip(id, 80),
						all[0].Summary())
				}
				posting.RequireServerStatus(t, resumed)
				t.Saw()
			},
		},
		{
			ID:    "streamable-http.input-required.retry",
			Says:  "the server accepts a retry over another connection like one over the same",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-retry-self-contained"},
			Idle:  "no request that asks for input succeeded in its second round",
			Hint:  "offer a read-only tool that succeeds when its input_required result is answered" + check.OrAllow,
			// Each connection is closed after its answer. A retry that succeeds in the session
			// must succeed so too.
			Probe: func(t *check.T) {
				alone := check.With("Connection", "close")
				for r := range asking.Rounds(t, asking.MaxRounds) {
					if !check.Succeeded(t, t.Request(r.Method, r.Retry)) {
						continue
					}
					first := posting.Posting{Method: r.Method, Params: r.Params}.Post(t, alone)
					if !session.IsInputRequired(first.Answer) {
						continue
					}
					retry, ok := t.Client().Retry(r.Params, first.Answer.Result())
					if !ok {
						continue
					}
					a := posting.RequireAvailable(t, posting.Posting{Method: r.Method, Params: retry}.Post(t, alone))
					if !check.Succeeded(t, a.Answer) {
						t.Fail("a result, as over the same connection", check.Describe(a.PendingExchange),
							"%s was retried over another connection than that of the first request", r)
					}
					t.Saw()
				}
			},
		},
	}
}

// requireStatelessOnly ends the body if the server serves clients of earlier
// revisions: the rule leaves it free then.
func requireStatelessOnly(t *check.T) {
	if posting.ProbeHandshake(t).Served {
		t.NotApplicable("the server accepts initialize and may serve clients of handshake revisions")
	}
}

// streamedAnswer returns an exchange whose answer is a stream with more than one
// event: the call of a tool that reports progress, or else a subscription.
func streamedAnswer(t *check.T) *check.PendingExchange {
	if t.Declares("tools") {
		for _, c := range toolcalls.Calls(t).Results {
			if c.Reports == 0 {
				continue
			}
			p := posting.CallPosting(c.Tool, c.Args)
			p.Params["_meta"] = check.Params{"progressToken": "mcpcheck-stream-" + t.NextID().Raw}
			if a := p.Post(t); a.IsEventStream() && len(a.Snapshot().Events()) > 1 {
				return a.PendingExchange
			}
		}
	}
	if !watch.DeclaresChanges(t) {
		t.NotObserved("no request was answered with a stream",
			"offer a read-only tool that reports progress"+check.OrAllow)
	}
	x := t.HTTP().Post(t.Frame(t.NextID(), "subscriptions/listen", watch.DeclaredFilter(t).Params()))
	t.HTTP().AwaitMessage(x, t.Timeout(), func(m wire.Message) bool {
		return m.Method() == "notifications/subscriptions/acknowledged" || m.IsResponse()
	})
	if !x.IsEventStream() {
		t.NotObserved("subscriptions/listen was answered with "+check.Describe(x),
			"answer subscriptions/listen with an event stream")
	}
	return x
}
