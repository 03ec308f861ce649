package progress

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// probes are the probes of basic/utilities/progress (basic/patterns/progress
// since 2026-07-28). What is reported is judged in every session.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "progress.token.accepted",
			Says:  "a request may give a progress token, a string or an integer",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"progress-token-type"},
			// tokenAccepted gives tokens to a request that any server answers, and that is
			// too short to be reported on. Since 2026-07-28 the rule binds clients alone.
			Probe: func(t *check.T) {
				if m := t.Request(t.Facts.Barrier, check.Params{"_meta": check.Params{}}); m.Kind != wire.Result {
					t.NotObserved(t.Facts.Barrier+" without a token was answered with "+m.Summary(), "")
				}
				for _, token := range []any{"mcpcheck-token", 20} {
					m := t.Request(t.Facts.Barrier, check.Params{"_meta": check.Params{"progressToken": token}})
					if m.Kind != wire.Result {
						t.Fail("a result, as without a token", m.Summary(), "%s with the progress token %#v was answered with %s", t.Facts.Barrier, token, m.Summary())
					}
				}
			},
		},
		{
			ID:    "progress.token.own",
			Says:  "of two calls at once each is reported under its own token",
			Level: spec.Must,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"progress-token-echo"},
			// tokenOwn looks at two calls of which one has a number for a token and the
			// other the string of its digits: a server that keeps them in one table reports
			// both under one of them.
			Probe: func(t *check.T) {
				w := toolcalls.CancelOne(t)
				if w.Why != "" {
					t.NotObserved(w.Why, w.Hint)
				}
				text, number := w.Twins[0], w.Twins[1]
				switch {
				case !text.Answered || !number.Answered:
					t.NotObserved("the two calls were not both answered", "")
				case len(text.Reports) == 0 && len(number.Reports) >= 2*w.Usual, len(number.Reports) == 0 && len(text.Reports) >= 2*w.Usual:
					t.Sessions().Use(w.In).Fail("reports under both tokens", "reports under one of them", "of two calls of %q at once, with the tokens %s and %s, the first was reported on %d times and the second %d times", w.Tool, text.Token, number.Token, len(text.Reports), len(number.Reports))
				case len(text.Reports) == 0 || len(number.Reports) == 0:
					t.NotObserved("one of the two calls was not reported on", "")
				}
			},
		},
		{
			ID:    "progress.unknown.ignored",
			Says:  "progress on an unknown token is neither answered nor minded",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"progress-unknown-token-tolerated"},
			// unknownProgress: the page gives the receiver nothing to answer, and a token
			// may have been forgotten by the time its report comes.
			Probe: func(t *check.T) {
				from := t.Notify("notifications/progress", check.Params{"progressToken": "mcpcheck-never-given", "progress": 1, "total": 2})
				t.Survives("a progress notification with an unknown token")
				t.Forbid(from, "no answer to a notification", func(m wire.Message) bool {
					return m.IsResponse() && (!m.ID().Present() || m.ID().Null())
				})
			},
		},
	}
}
