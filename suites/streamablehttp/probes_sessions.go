package streamablehttp

import (
	"math"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// sessionProbes are the probes of basic/transports#session-management, which
// 2026-07-28 removed.
func sessionProbes() []check.Check {
	in := spec.Handshake & spec.Since(spec.V2025_03_26)
	return []check.Check{
		{
			ID:    "streamable-http.session.id.secure",
			Says:  "session ids are all different and cannot be guessed",
			Level: spec.Should,
			In:    in,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-session-id-secure", "security-session-id-non-deterministic"},
			// sessionIDSecure opens sessions, a few at a time, and estimates from above what
			// their ids can differ in: by how many characters were seen at each place.
			// Counters and clocks vary in their last places only. More cannot be seen from
			// outside.
			Probe: func(t *check.T) {
				b := withID(t)
				want := fewIDs
				if b.End() && !check.Has(t, learntIDs) {
					want = manyIDs
					check.Learn(t, learntIDs)
				}
				ids := []string{t.HTTP().SessionID(), b.Id}
				for len(ids) < want {
					next, why := tryOpenIDs(t, min(atATime, want-len(ids)))
					ids = append(ids, next...)
					if why != "" {
						t.Note("the %dth session could not be opened: %s", len(ids)+1, why)
						break
					}
				}
				first := map[string]int{}
				for i, id := range ids {
					if at, twice := first[id]; twice {
						t.Fail("an id of its own for each session", wire.Clip(id, 80), "sessions %d and %d were given the same id %q", at+1, i+1, wire.Clip(id, 80))
					}
					first[id] = i
				}
				least := float64(bitsOfFew)
				if len(ids) >= manyIDs {
					least = bitsOfMany
				}
				switch bits := variety(ids); {
				case len(ids) < fewIDs:
					t.NotObserved("too few sessions could be opened to compare their ids", "")
				case bits < least:
					t.Fail("ids that cannot be guessed", wire.Clip(ids[len(ids)-1], 80), "the ids of %d sessions differ in at most %.0f bits, such as %q and %q", len(ids), bits, wire.Clip(ids[len(ids)-2], 80), wire.Clip(ids[len(ids)-1], 80))
				}
			},
		},
		{
			ID:    "streamable-http.session.required",
			Says:  "a server that requires a session id answers requests without one with status 400",
			Level: spec.Should,
			In:    in,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-session-required-400"},
			// sessionRequired: a server that serves a request without id requires none.
			Probe: func(t *check.T) {
				b := withID(t)
				defer b.End()
				x := posting.SayingSomething(t, t.HTTP().Post(posting.Barrier(t), check.Without(posting.SessionField)))
				switch {
				case posting.Served(t, x):
					t.NotApplicable("the server serves requests without a session id")
				case x.Status != http.StatusBadRequest:
					t.Fail("HTTP status 400", check.Describe(x), "%s without MCP-Session-Id was answered with %s", t.Facts.Barrier, check.Describe(x))
				}
				if x, err := t.HTTP().TryPost(posting.Initialized, check.Without(posting.SessionField)); err == nil && posting.SayingSomething(t, x).Status != http.StatusBadRequest {
					t.Fail("HTTP status 400", check.Describe(x), "a notification without MCP-Session-Id was answered with %s, though requests need one", check.Describe(x))
				}
				for _, method := range []string{http.MethodGet, http.MethodDelete} {
					x, err := t.HTTP().TryRequest(method, check.Without(posting.SessionField), check.With("Accept", "text/event-stream"))
					if err == nil && x.Status != http.StatusBadRequest && x.Status != http.StatusMethodNotAllowed {
						t.Note("a %s without MCP-Session-Id was answered with %s", method, check.Describe(x))
					}
					if err == nil {
						x.Close()
					}
				}
			},
		},
		{
			ID:    "streamable-http.session.ended",
			Says:  "requests with the id of a session that was ended are answered with status 404",
			Level: spec.Must,
			In:    in,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-session-terminated-404"},
			// sessionEnded: only a DELETE that succeeds is known to have ended a session.
			// What an id gets that was never given is not stated.
			Probe: func(t *check.T) {
				b := withID(t)
				if x, err := t.HTTP().TryPost(posting.Barrier(t), check.With(posting.SessionField, "mcpcheck-no-such-session")); err == nil && x.Status != http.StatusNotFound {
					t.Note("a session id that was never given is answered with %s", check.Describe(x))
				}
				listens := false
				if x, err := b.TryAsk(http.MethodGet, check.With("Accept", "text/event-stream")); err == nil {
					listens = x.Status == http.StatusOK
					x.Close()
				}
				gone, err := b.TryAsk(http.MethodDelete)
				switch {
				case err != nil:
					t.NotObserved("a DELETE was not answered: "+err.Error(), "")
				case !posting.Ok2xx(gone):
					t.NotObserved("the server does not let clients end sessions: DELETE was answered with "+check.Describe(gone), "")
				}
				again := posting.SayingSomething(t, b.Post(posting.Barrier(t)))
				switch {
				case posting.Served(t, again):
					t.Fail("HTTP status 404", check.Describe(again), "a session lives on after DELETE was answered with status %d: %s in it was answered with %s", gone.Status, t.Facts.Barrier, check.Describe(again))
				case again.Status != http.StatusNotFound:
					t.Fail("HTTP status 404", check.Describe(again), "%s in a session that was ended by DELETE was answered with %s", t.Facts.Barrier, check.Describe(again))
				}
				if listens {
					x, err := b.TryAsk(http.MethodGet, check.With("Accept", "text/event-stream"))
					if err == nil {
						defer x.Close()
					}
					if err == nil && posting.SayingSomething(t, x).Status != http.StatusNotFound {
						t.Fail("HTTP status 404", check.Describe(x), "a GET in a session that was ended by DELETE was answered with %s", check.Describe(x))
					}
				}
				if x, err := b.TryAsk(http.MethodDelete); err == nil && x.Status != http.StatusNotFound {
					t.Note("a second DELETE was answered with %s", check.Describe(x))
				}
			},
		},
		{
			ID:    "streamable-http.session.isolated",
			Says:  "a session goes on as it was when another one is opened beside it, spoken in and ended",
			Level: spec.Should,
			In:    spec.Only(spec.V2025_11_25),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-session-isolation"},
			// sessionIsolated: an id that occurs in both sessions is judged by
			// streamable-http.clients.
			Probe: func(t *check.T) {
				kept := withID(t)
				defer kept.End()
				goesOn := func(when string) {
					if x := posting.SayingSomething(t, kept.Post(posting.Barrier(t))); !posting.Served(t, x) {
						posting.LeftToPoll(t, x)
						t.Fail("a result", check.Describe(x), "%s, a request in the one beside it was answered with %s", when, check.Describe(x))
					}
				}
				if x := kept.Post(posting.Barrier(t)); !posting.Served(t, x) {
					t.NotObserved("a second session does not serve requests: "+check.Describe(x), "")
				}
				other := posting.OpenSession(t)
				goesOn("once another session was opened")
				keepsToItself(t, kept, other)
				if other.End() {
					goesOn("once another session was ended")
				}
			},
		},
	}
}

// withID opens a session that has an id; where the server gives none the rules of
// ids do not apply.
func withID(t *check.T) *posting.Beside {
	b := posting.OpenSession(t)
	if b.Id == "" {
		t.NotApplicable("the server gives its sessions no id")
	}
	return b
}

// How many ids are looked at: many at one revision, which show their range, and
// a few at the others and of a server that does not let clients end sessions,
// which would keep them all.
const (
	manyIDs, fewIDs = 200, 20
	learntIDs       = "session ids"
)

// Bits that ids must be able to differ in, to be taken for unguessable: half of
// those of a random UUID, and less where few are seen, which cannot show more.
const (
	bitsOfMany = 60
	bitsOfFew  = 30
)

// atATime is how many sessions are opened at once.
const atATime = 5

// tryOpenIDs opens sessions, ends them and returns their ids; why tells of one that
// was not opened.
func tryOpenIDs(t *check.T, n int) (ids []string, why string) {
	var opening, ending []check.Posting
	for range n {
		opening = append(opening, check.Posting{Raw: posting.Initializing(t), Edits: []check.Edit{check.Without(posting.SessionField), check.Without(posting.VersionField)}})
	}
	for _, x := range t.HTTP().Together(opening) {
		switch {
		case x == nil:
			why = "initialize was not answered"
		case x.Header.Get(posting.SessionField) == "":
			why = check.Describe(x)
		default:
			id := x.Header.Get(posting.SessionField)
			ids = append(ids, id)
			ending = append(ending, check.Posting{Method: http.MethodDelete, Edits: (&posting.Beside{T: t, Id: id}).Edits()})
		}
	}
	t.HTTP().Together(ending)
	return ids, why
}

// variety is the logarithm to base 2 of how many texts there are that have at
// each place one of the characters that some of these have there; that a text
// has ended counts as one.
func variety(ids []string) (bits float64) {
	longest := 0
	for _, id := range ids {
		longest = max(longest, len(id))
	}
	for i := range longest {
		seen := map[int]bool{}
		for _, id := range ids {
			if i < len(id) {
				seen[int(id[i])] = true
			} else {
				seen[-1] = true
			}
		}
		bits += math.Log2(float64(len(seen)))
	}
	return bits
}

// keepsToItself calls a tool that reports progress in one session while another
// listens, if the tools were called before and one of them does.
func keepsToItself(t *check.T, listening, working *posting.Beside) {
	const token = `"mcpcheck-beside"`
	c, ok := check.Known(t, toolcalls.Key)
	if !ok {
		return
	}
	one, ok := c.Worker()
	if !ok {
		return
	}
	get, err := listening.TryAsk(http.MethodGet, check.With("Accept", "text/event-stream"))
	if err != nil {
		return
	}
	defer get.Close()
	one.Token = token
	x, err := working.TryPost(t.Frame(t.NextID(), "tools/call", one.Params()))
	if err != nil || get.Status != http.StatusOK {
		return
	}
	t.HTTP().Response(x)
	if _, err := listening.TryPost(posting.Barrier(t)); err != nil {
		return
	}
	for _, m := range get.Messages() {
		if toolcalls.ReportsProgress(m, token) {
			t.HTTP().Mark(get)
			t.Fail("nothing of another session", m.Summary(), "the event stream of a session carried %s, which a call in another session asked for", m.Summary())
		}
	}
}
