package progress

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// probes returns the probes of basic/utilities/progress (basic/patterns/progress
// since 2026-07-28). Judges judge the progress that a server reports.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "progress.token.accepted",
			Says:  "the server accepts a request with a progress token that is a string or an integer",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"progress-token-type"},
			Idle:  "no request with a progress token was sent",
			Hint:  expect.HintReply,
			// The request is one that any server answers, too short to report progress on.
			// Since 2026-07-28 the rule binds clients alone.
			Probe: func(t *check.T) {
				if m := t.Request(t.Facts.BarrierMethod, check.Params{"_meta": check.Params{}}); m.Kind != wire.Result {
					t.NotObserved(t.Facts.BarrierMethod+" without a token was answered with "+m.Summary(),
						"answer "+t.Facts.BarrierMethod+" with an empty _meta")
				}
				for _, token := range []any{"mcpcheck-token", 20, 0, -1, ""} {
					m := t.Request(t.Facts.BarrierMethod, check.Params{"_meta": check.Params{"progressToken": token}})
					if m.Kind != wire.Result {
						t.Fail("a result, as without a token", m.Summary(),
							"%s with the progress token %#v was answered with %s", t.Facts.BarrierMethod, token,
							m.Summary())
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "progress.token.own",
			Says:  "the server reports progress on each of two concurrent calls under the token of that call",
			Level: spec.Must,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"progress-token-echo"},
			Idle:  "no progress was reported on one of the two calls",
			Hint:  "offer a read-only tool that takes a second and reports progress" + check.OrAllow,
			// The token of one call is a number and that of the other is the string of its
			// digits. A server that keeps both in one table reports twice as often under one
			// of them.
			Probe: func(t *check.T) {
				w := toolcalls.CancelOne(t)
				if w.Why != "" {
					t.NotObserved(w.Why, w.Hint)
				}
				text, number := w.Others[0], w.Others[1]
				if !text.Answered || !number.Answered {
					t.NotObserved("the two calls were not both answered", "answer two calls of a tool at once")
				}
				fewer, more := len(text.Reports), len(number.Reports)
				if fewer > more {
					fewer, more = more, fewer
				}
				switch {
				case fewer > 0:
					t.Saw()
				case more >= 2*w.Usual:
					t.Sessions().Use(w.In).Fail("reports under both tokens", "reports under one of them",
						"two concurrent calls of %q: progress was reported %d times for token %s and %d times for %s",
						w.Tool, len(text.Reports), text.Token, len(number.Reports), number.Token)
				}
			},
		},
		{
			ID: "progress.token.zero",
			Says: "the server reports progress on a call whose token is 0 or empty as on any other: a client that" +
				" counts from 0 sends it",
			Level: spec.Robust,
			In:    spec.Every,
			Needs: "tools",
			Spec:  "basic/utilities/progress#progress-flow",
			Idle:  "no tool that may be called reports progress",
			Hint:  "offer a read-only tool that reports progress, or allow one: --allow-tools NAME,…",
			// A server need not report progress: it counts if the same call has none twice, and has
			// some with another token.
			Probe: func(t *check.T) {
				call, ok := toolcalls.CallsIfDeclared(t).ShortestCancellable()
				if !ok {
					return
				}
				for _, token := range []string{`0`, `""`} {
					if reportsProgress(t, call, token, 2) {
						t.Saw()
						continue
					}
					if reportsProgress(t, call, `"mcpcheck-usual"`, 1) {
						t.Fail("progress", "none", "calls of %q report progress, and none with the progress token %s",
							call.Tool.Get("name").String(), token)
					}
					return
				}
			},
		},
		{
			ID:    "progress.unknown.ignored",
			Says:  "the server ignores a progress notification with an unknown token",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"progress-unknown-token-tolerated"},
			Idle:  "no progress with an unknown token was sent",
			Hint:  expect.HintReply,
			// A notification has no answer, and a receiver may have forgotten a token when
			// the notification arrives.
			Probe: func(t *check.T) {
				params := check.Params{"progressToken": "mcpcheck-never-given", "progress": 1, "total": 2}
				from := t.Notify("notifications/progress", params)
				t.Survives("a progress notification with an unknown token")
				t.Forbid(from, "no answer to a notification", func(m wire.Message) bool {
					return m.IsResponse() && check.HasNoID(m)
				})
				t.Saw()
			},
		},
	}
}

// reportsProgress calls a tool at most so many times, and reports whether it reported
// progress for the token.
func reportsProgress(t *check.T, call toolcalls.Call, token string, times int) bool {
	call.Token = token
	for range times {
		from := t.Len()
		if r := t.Try("tools/call", call.Params()); r.Err != nil || !check.Succeeded(t, r.Message) {
			t.NotObserved("a call that succeeded before did not succeed again", "")
		}
		if slices.ContainsFunc(t.Received(from), func(m wire.Message) bool {
			return toolcalls.ReportsProgress(m, token)
		}) {
			return true
		}
	}
	return false
}
