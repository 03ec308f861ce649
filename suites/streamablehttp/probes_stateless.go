package streamablehttp

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// statelessProbes are the probes of what streamable HTTP has since 2026-07-28
// alone (basic/transports/streamable-http#earlier-streamable-http-revisions): no
// session, no stream to listen on, nothing that is resumed.
func statelessProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.method.unknown",
			Says:  "a method that the server does not have is answered with status 404",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-unknown-method-404"},
			// unknownMethodStatus leaves it to the checks of JSON-RPC that there is an error
			// -32601 at all.
			Probe: func(t *check.T) {
				p := posting.Posting{Method: "mcpcheck/no-such-method"}
				a := posting.Available(t, p.Post(t))
				if code, _ := a.Answer.Code(); code != spec.MethodNotFound {
					t.NotObserved("an unknown method was answered with "+check.Describe(a.Exchange)+", and not with error -32601", "")
				}
				if a.Status != http.StatusNotFound {
					t.Fail("HTTP status 404", check.Describe(a.Exchange), "an unknown method was answered with %s", check.Describe(a.Exchange))
				}
			},
		},
		{
			ID:    "streamable-http.post.only",
			Says:  "a server without handshake revisions answers GET and DELETE with status 405",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-get-delete-405"},
			Probe: func(t *check.T) {
				modernOnly(t)
				for _, method := range []string{http.MethodGet, http.MethodDelete} {
					x := t.HTTP().Request(method, check.With("Accept", "text/event-stream"))
					x.Close()
					switch {
					case posting.Unavailable(x.Status), x.Status == http.StatusUnauthorized, x.Status == http.StatusForbidden:
						t.NotObserved(method+" was answered with "+check.Describe(x), "")
					case x.Status != http.StatusMethodNotAllowed:
						t.Fail("HTTP status 405", check.Describe(x), "%s was answered with %s", method, check.Describe(x))
					}
				}
			},
		},
		{
			ID:    "streamable-http.session.none",
			Says:  "the server opens no session, and one without handshake revisions ignores what a request names",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-session-header-ignored"},
			// sessionNone: a server that has handshake revisions too may look for a session that
			// a request names, as these have it; a request that names none is served
			// statelessly by it
			// (basic/versioning#backward-compatibility-with-initialization-based-versions).
			Probe: func(t *check.T) {
				named := check.With(posting.SessionField, "mcpcheck-no-such-session")
				ways := [][]check.Edit{nil, {named}}
				if posting.OtherEras(t).Handshake {
					ways = ways[:1]
					if a := posting.Discovery.Post(t, named); !a.Served() || a.Header.Get(posting.SessionField) != "" {
						t.Note("a request that names a session is answered with %s", check.Describe(a.Exchange))
					}
				} else {
					posting.ExpectServed(t, "with an Mcp-Session-Id", posting.Discovery, named)
				}
				for _, edits := range ways {
					for _, p := range append([]posting.Posting{posting.Discovery}, posting.NamedPostingsIfAny(t)...) {
						if a := posting.Available(t, p.Post(t, edits...)); a.Header.Get(posting.SessionField) != "" {
							t.Fail("no Mcp-Session-Id", "Mcp-Session-Id: "+wire.Clip(a.Header.Get(posting.SessionField), 80), "the answer to %s has an Mcp-Session-Id", p)
						}
					}
				}
			},
		},
		{
			ID:    "streamable-http.event.id.ignored",
			Says:  "a server without handshake revisions ignores Last-Event-ID on a request",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-last-event-id-ignored"},
			Probe: func(t *check.T) {
				modernOnly(t)
				posting.ExpectServed(t, "with a Last-Event-ID", posting.Discovery, check.With("Last-Event-ID", "mcpcheck-1"))
			},
		},
		{
			ID:    "streamable-http.stream.resumed",
			Says:  "a server without handshake revisions repeats nothing to who comes back with Last-Event-ID",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-no-resumption"},
			// notResumed reads a stream, and comes back with the id of its first event, or
			// an id of its own making where it had none. A barrier tells how long a stream
			// is listened to that is opened all the same.
			Probe: func(t *check.T) {
				modernOnly(t)
				x := streamed(t)
				id := "mcpcheck-0"
				for _, e := range x.Events() {
					if e.HasID && e.ID != "" {
						id = e.ID
						break
					}
				}
				x.Close()
				back := t.HTTP().Request(http.MethodGet, check.With("Accept", "text/event-stream"), check.With("Last-Event-ID", id))
				defer back.Close()
				posting.Discovery.Post(t)
				if all := back.Messages(); back.Streams() && len(all) > 0 {
					t.Fail("HTTP status 405", check.Describe(back), "GET with Last-Event-ID: %s was answered with a stream that holds %s", wire.Clip(id, 80), all[0].Summary())
				}
			},
		},
		{
			ID:    "mrtr.retry.elsewhere",
			Says:  "a retry over another connection is as good as one over the same",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"mrtr-retry-self-contained"},
			// retryElsewhere has each connection closed behind its answer. What succeeds in
			// the session must succeed so too.
			Probe: func(t *check.T) {
				alone := check.With("Connection", "close")
				seen := false
				asking.EachRound(t, asking.MaxRounds, func(r asking.Round) {
					if !check.Succeeded(t, t.Request(r.Method, r.Retry)) {
						return
					}
					first := posting.Posting{Method: r.Method, Params: r.Params}.Post(t, alone)
					if !session.Interim(first.Answer) {
						return
					}
					retry, ok := t.Client().Retry(r.Params, first.Answer.Result())
					if !ok {
						return
					}
					seen = true
					if a := posting.Available(t, posting.Posting{Method: r.Method, Params: retry}.Post(t, alone)); !check.Succeeded(t, a.Answer) {
						t.Fail("a result, as over the same connection", check.Describe(a.Exchange), "%s was retried over another connection than it was asked over, and answered with %s", r, check.Describe(a.Exchange))
					}
				})
				if !seen {
					t.NotObserved("no request that asks for input succeeded in its second round", "")
				}
			},
		},
	}
}

// modernOnly ends the body where the server serves clients of earlier revisions
// as these have it.
func modernOnly(t *check.T) {
	if posting.OtherEras(t).Handshake {
		t.NotApplicable("the server accepts initialize, and may serve such clients")
	}
}

// streamed returns an exchange whose answer was a stream with more than one event:
// the call of a tool that reports its progress, else a subscription.
func streamed(t *check.T) *check.Exchange {
	if t.Declares("tools") {
		for _, c := range toolcalls.Calls(t).Results {
			if c.Reports == 0 {
				continue
			}
			p := posting.Calling(c.Tool, c.Args)
			p.Params["_meta"] = check.Params{"progressToken": "mcpcheck-stream"}
			if a := p.Post(t); a.Streams() && len(a.Events()) > 1 {
				return a.Exchange
			}
		}
	}
	if !watch.DeclaresChanges(t) {
		t.NotObserved("nothing that could be asked for was answered with a stream", "--allow-tools NAME,… allows tools that are not read-only")
	}
	x := t.HTTP().Post(t.Frame(t.NextID(), "subscriptions/listen", watch.DeclaredFilter(t).Params()))
	t.HTTP().AwaitMessage(x, t.Timeout(), func(m wire.Message) bool {
		return m.Method() == "notifications/subscriptions/acknowledged" || m.IsResponse()
	})
	if !x.Streams() {
		t.NotObserved("subscriptions/listen was answered with "+check.Describe(x), "")
	}
	return x
}
