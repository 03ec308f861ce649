package server

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// logging are the probes of server/utilities/logging. The messages themselves
// are judged in every session.
func logging() []check.Check {
	return []check.Check{
		{
			ID:    "logging.set-level.accepted",
			Says:  "logging/setLevel takes each of the eight levels",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "logging",
			Rules: []string{"logging-all-levels-accepted"},
			Probe: levelsAccepted,
		},
		{
			ID:    "logging.set-level.empty",
			Says:  "logging/setLevel is answered with an empty result",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "logging",
			Rules: []string{"logging-set-level-empty-result"},
			Probe: setLevelEmpty,
		},
		{
			ID:       "logging.set-level.invalid",
			Says:     "a level that is none of the eight is answered with -32602",
			Level:    spec.Should,
			In:       spec.Handshake,
			Needs:    "logging",
			Rules:    []string{"logging-invalid-level-code"},
			Malforms: true,
			Probe:    levelInvalid,
		},
		{
			ID:       "logging.request.invalid",
			Says:     "a request that asks for a level that is none of the eight is answered with -32602",
			Level:    spec.Should,
			In:       spec.Stateless,
			Needs:    "logging",
			Rules:    []string{"logging-unknown-request-level-32602"},
			Malforms: true,
			Probe:    requestLevelInvalid,
		},
	}
}

// setLevels sets each level once at this revision, the mildest last, and
// returns the answers by level. The body ends at the first that stays without.
func setLevels(t *check.T) map[string]wire.Entry {
	if logging := t.Capabilities().Get("logging"); !logging.IsObject() {
		t.NotObserved("the capability logging is declared by "+wire.TypeName(logging), "")
	}
	return check.Memo(t, "logging/setLevel", func() map[string]wire.Entry {
		out := map[string]wire.Entry{}
		for _, level := range harshestFirst() {
			e, err := t.TryFrame("logging/setLevel", check.Params{"level": level})
			if err != nil {
				break
			}
			out[level] = e
		}
		return out
	})
}

func harshestFirst() []string {
	levels := spec.LogLevels()
	slices.Reverse(levels)
	return levels
}

// levelsAccepted tells of the first level that is refused, or not answered.
func levelsAccepted(t *check.T) {
	answers := setLevels(t)
	for _, level := range harshestFirst() {
		switch e, ok := answers[level]; {
		case !ok:
			t.Fail("a result", "no answer", "logging/setLevel with %q was not answered", level)
		case e.Message.Kind != wire.Result:
			t.Mark(e)
			t.Fail("a result", e.Message.Summary(), "logging/setLevel with %q was answered with %s", level, e.Message.Summary())
		}
	}
}

func setLevelEmpty(t *check.T) {
	seen := false
	for _, e := range setLevels(t) {
		if e.Message.Kind != wire.Result {
			continue
		}
		seen = true
		for key := range e.Message.Result().Map() {
			if key != "_meta" {
				t.Mark(e)
				t.Fail("an empty result", e.Message.Result().Raw, "the result of logging/setLevel holds %q", wire.Clip(key, 80))
			}
		}
	}
	if !seen {
		t.NotObserved("logging/setLevel was answered with no result", "")
	}
}

// levelInvalid leaves the level as it was where the server does as it should.
func levelInvalid(t *check.T) {
	if !slices.ContainsFunc(slices.Collect(maps.Values(setLevels(t))), func(e wire.Entry) bool { return e.Message.Kind == wire.Result }) {
		t.NotObserved("no level was accepted", "")
	}
	g := gomega.NewWithT(t)
	for _, params := range []check.Params{{"level": "verbose"}, {"level": "DEBUG"}, {"level": 3}, {}} {
		what := "without a level"
		if level, ok := params["level"]; ok {
			what = fmt.Sprintf("with the level %#v", level)
		}
		g.Expect(t.Request("logging/setLevel", params)).To(match.BeError(spec.InvalidParams), "logging/setLevel "+what)
	}
}

func requestLevelInvalid(t *check.T) {
	g := gomega.NewWithT(t)
	for _, level := range []any{"verbose", "DEBUG", 3} {
		m := t.Request(t.Facts.Barrier, check.Params{"_meta": check.Params{spec.MetaLogLevel: level}})
		g.Expect(m).To(match.BeError(spec.InvalidParams), fmt.Sprintf("%s that asks for the log level %#v", t.Facts.Barrier, level))
	}
}

// loudly asks for all log messages of the session, where that is done once and
// for all, so that what the calls of tools log is seen.
func loudly(t *check.T) {
	if t.Declares("logging") && !t.Facts.Stateless {
		t.Try("logging/setLevel", check.Params{"level": spec.LogLevels()[0]})
	}
}

// harsh is the level at which tools are called once more, and maxAlone how many
// of them one by one.
const (
	harsh    = "error"
	maxAlone = 20
)

// quickly is how long a tool may take to be called once more on the chance that
// it logs.
const quickly = 300 * time.Millisecond

// logged calls tools once more, so that judges see what is logged under another
// level; since 2026-07-28 for the first time with a level at all. Tools that
// take longer have their turn if those that do not log nothing. It returns the
// number of calls.
func logged(t *check.T) int {
	return check.Memo(t, "logged", func() int {
		if !t.Declares("logging") || !t.Declares("tools") {
			return 0
		}
		n := 0
		for _, limit := range []time.Duration{quickly, longestWork} {
			calls := called(t).within(limit)
			n += len(calls)
			if t.Facts.Stateless && loggedByRequest(t, calls) || !t.Facts.Stateless && loggedBySession(t, calls) {
				break
			}
		}
		return n
	})
}

// loggedByRequest makes calls that ask for everything and, if something came,
// calls that ask for little: one by one, so that a message can be told to be of
// a call.
func loggedByRequest(t *check.T, calls []toolCall) (messages bool) {
	if !callAt(t, calls, spec.LogLevels()[0]) {
		return false
	}
	for range 2 { // so that what comes late is not taken for theirs
		t.Try(t.Facts.Barrier, nil)
	}
	for _, one := range calls[:min(len(calls), maxAlone)] {
		callAt(t, []toolCall{one}, harsh)
	}
	return true
}

// loggedBySession repeats calls that were seen to log with little asked for.
func loggedBySession(t *check.T, calls []toolCall) (messages bool) {
	calls = slices.DeleteFunc(calls, func(one toolCall) bool { return !one.logs })
	if len(calls) == 0 {
		return false
	}
	if m, ok := t.Try("logging/setLevel", check.Params{"level": harsh}); ok && m.Kind == wire.Result {
		t.Try(t.Facts.Barrier, nil)
		callAt(t, calls, "")
		loudly(t)
	}
	return true
}

// within returns one call of each tool that took no longer, and only reads or
// was seen to log. What reports progress is not called on a mere chance.
func (c *toolCalls) within(limit time.Duration) []toolCall {
	var out []toolCall
	seen := map[string]bool{}
	for _, one := range c.results {
		name := one.tool.Get("name").String()
		if !readOnly(one.tool) && !one.logs || one.took > limit || limit == quickly && one.reports > 0 || seen[name] {
			continue
		}
		seen[name] = true
		one.token = ""
		out = append(out, one)
	}
	return out
}

// callAt makes calls at once, each asking for a log level if one is given, and
// tells whether any log message came.
func callAt(t *check.T, calls []toolCall, level string) bool {
	var running []*check.Call
	for _, one := range calls {
		params := one.params()
		if level != "" {
			params["_meta"] = check.Params{spec.MetaLogLevel: level}
		}
		if r, err := t.TryStart("tools/call", params); err == nil {
			running = append(running, r)
		}
	}
	for _, r := range running {
		if _, err := t.TryAnswer(r, t.Timeout()/2); err != nil {
			t.Cancel(r)
			return false
		}
	}
	return len(running) > 0 && logsBetween(t, running[0].Sent, math.MaxInt)
}

// logsBetween tells whether a log message came between two frames.
func logsBetween(t *check.T, from, to int) bool {
	return slices.ContainsFunc(t.Frames(from), func(e wire.Entry) bool {
		return e.From == wire.Server && e.Index < to && slices.ContainsFunc(e.Message.Elements(), func(m wire.Message) bool { return m.Method() == "notifications/message" })
	})
}
