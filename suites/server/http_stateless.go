package server

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// statelessHTTP are the probes of what streamable HTTP has since 2026-07-28
// alone (basic/transports/streamable-http#earlier-streamable-http-revisions): no
// session, no stream to listen on, nothing that is resumed.
func statelessHTTP() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.method.unknown",
			Says:  "a method that the server does not have is answered with status 404",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-unknown-method-404"},
			Probe: unknownMethodStatus,
		},
		{
			ID:    "streamable-http.post.only",
			Says:  "a server without handshake revisions answers GET and DELETE with status 405",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-get-delete-405"},
			Probe: postOnly,
		},
		{
			ID:    "streamable-http.session.none",
			Says:  "the server opens no session, and one without handshake revisions ignores what a request names",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-session-header-ignored"},
			Probe: sessionNone,
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
				expectServed(t, "with a Last-Event-ID", discovery, check.With("Last-Event-ID", "mcpcheck-1"))
			},
		},
		{
			ID:    "streamable-http.stream.resumed",
			Says:  "a server without handshake revisions repeats nothing to who comes back with Last-Event-ID",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-no-resumption"},
			Probe: notResumed,
		},
		{
			ID:    "mrtr.retry.elsewhere",
			Says:  "a retry over another connection is as good as one over the same",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnHTTP,
			Rules: []string{"mrtr-retry-self-contained"},
			Probe: retryElsewhere,
		},
	}
}

// unknownMethodStatus leaves it to the checks of JSON-RPC that there is an error
// -32601 at all.
func unknownMethodStatus(t *check.T) {
	p := posting{method: "mcpcheck/no-such-method"}
	a := available(t, p.post(t))
	if code, _ := a.answer.Code(); code != spec.MethodNotFound {
		t.NotObserved("an unknown method was answered with "+check.Told(a.Exchange)+", and not with error -32601", "")
	}
	if a.Status != http.StatusNotFound {
		t.Fail("HTTP status 404", check.Told(a.Exchange), "an unknown method was answered with %s", check.Told(a.Exchange))
	}
}

// modernOnly ends the body where the server serves clients of earlier revisions
// as these have it.
func modernOnly(t *check.T) {
	if otherEras(t).handshake {
		t.NotApplicable("the server accepts initialize, and may serve such clients")
	}
}

func postOnly(t *check.T) {
	modernOnly(t)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		x := t.Ask(method, check.With("Accept", "text/event-stream"))
		x.Close()
		switch {
		case unavailable(x.Status), x.Status == http.StatusUnauthorized, x.Status == http.StatusForbidden:
			t.NotObserved(method+" was answered with "+check.Told(x), "")
		case x.Status != http.StatusMethodNotAllowed:
			t.Fail("HTTP status 405", check.Told(x), "%s was answered with %s", method, check.Told(x))
		}
	}
}

// sessionNone: a server that has handshake revisions too may look for a session that
// a request names, as these have it; a request that names none is served
// statelessly by it
// (basic/versioning#backward-compatibility-with-initialization-based-versions).
func sessionNone(t *check.T) {
	named := check.With(sessionField, "mcpcheck-no-such-session")
	ways := [][]check.Edit{nil, {named}}
	if otherEras(t).handshake {
		ways = ways[:1]
		if a := discovery.post(t, named); !a.served() || a.Header.Get(sessionField) != "" {
			t.Note("a request that names a session is answered with %s", check.Told(a.Exchange))
		}
	} else {
		expectServed(t, "with an Mcp-Session-Id", discovery, named)
	}
	for _, edits := range ways {
		for _, p := range append([]posting{discovery}, namedIfAny(t)...) {
			if a := available(t, p.post(t, edits...)); a.Header.Get(sessionField) != "" {
				t.Fail("no Mcp-Session-Id", "Mcp-Session-Id: "+wire.Clip(a.Header.Get(sessionField), 80), "the answer to %s has an Mcp-Session-Id", p)
			}
		}
	}
}

// notResumed reads a stream, and comes back with the id of its first event, or
// an id of its own making where it had none. A barrier tells how long a stream
// is listened to that is opened all the same.
func notResumed(t *check.T) {
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
	back := t.Ask(http.MethodGet, check.With("Accept", "text/event-stream"), check.With("Last-Event-ID", id))
	defer back.Close()
	discovery.post(t)
	if all := back.Messages(); back.Streams() && len(all) > 0 {
		t.Fail("HTTP status 405", check.Told(back), "GET with Last-Event-ID: %s was answered with a stream that holds %s", wire.Clip(id, 80), all[0].Summary())
	}
}

// streamed returns an exchange whose answer was a stream with more than one event:
// the call of a tool that reports its progress, else a subscription.
func streamed(t *check.T) *check.Exchange {
	if t.Declares("tools") {
		for _, c := range called(t).results {
			if c.reports == 0 {
				continue
			}
			p := calling(c.tool, c.args)
			p.params["_meta"] = check.Params{"progressToken": "mcpcheck-stream"}
			if a := p.post(t); a.Streams() && len(a.Events()) > 1 {
				return a.Exchange
			}
		}
	}
	if !tellsOfChanges(t) {
		t.NotObserved("nothing that could be asked for was answered with a stream", "--allow-tools NAME,… allows tools that are not read-only")
	}
	x := t.Post(t.Frame(t.NextID(), "subscriptions/listen", declaredFilter(t).params()))
	t.Among(x, t.Timeout(), func(m wire.Message) bool {
		return m.Method() == "notifications/subscriptions/acknowledged" || m.IsResponse()
	})
	if !x.Streams() {
		t.NotObserved("subscriptions/listen was answered with "+check.Told(x), "")
	}
	return x
}

// maxBeside bounds the tools that are called beside a subscription.
const maxBeside = 6

// besideSubscription calls tools that may report and log while a stream of a
// subscription is open over HTTP, so that judges see on which stream it comes.
func besideSubscription(t *check.T) {
	if t.Transport() != transport.HTTP || !t.Facts.Stateless || !t.Declares("tools") || !tellsOfChanges(t) {
		return
	}
	check.Memo(t, "beside a subscription", func() bool {
		w := watchFor(t, declaredFilter(t))
		defer w.stop()
		results := slices.Clone(called(t).results)
		slices.SortStableFunc(results, func(a, b toolCall) int { return min(1, b.reports) - min(1, a.reports) })
		for i, c := range results {
			if i == maxBeside || !w.open {
				break
			}
			if !readOnly(c.tool) && c.reports == 0 {
				continue
			}
			params, meta := callParams(c.tool, c.args), check.Params{"progressToken": fmt.Sprintf("beside-%d", i)}
			if t.Declares("logging") {
				meta[spec.MetaLogLevel] = spec.LogLevels()[0]
			}
			params["_meta"] = meta
			_, _ = t.TryFrame("tools/call", params)
		}
		return true
	})
}

// retryElsewhere has each connection closed behind its answer. What succeeds in
// the session must succeed so too.
func retryElsewhere(t *check.T) {
	alone := check.With("Connection", "close")
	seen := false
	eachRound(t, maxRounds, func(r round) {
		if !succeeded(t, t.Request(r.method, r.retry)) {
			return
		}
		first := posting{method: r.method, params: r.params}.post(t, alone)
		if !session.Interim(first.answer) {
			return
		}
		retry, ok := t.Retry(r.params, first.answer.Result())
		if !ok {
			return
		}
		seen = true
		if a := available(t, posting{method: r.method, params: retry}.post(t, alone)); !succeeded(t, a.answer) {
			t.Fail("a result, as over the same connection", check.Told(a.Exchange), "%s was retried over another connection than it was asked over, and answered with %s", r, check.Told(a.Exchange))
		}
	})
	if !seen {
		t.NotObserved("no request that asks for input succeeded in its second round", "")
	}
}
