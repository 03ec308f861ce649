package logging

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
)

// probes returns the probes of server/utilities/logging. Judges judge the log
// messages.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "logging.set-level.accepted",
			Says:  "the server accepts logging/setLevel with each of the eight levels",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "logging",
			Rules: []string{"logging-all-levels-accepted"},
			Idle:  "no level was set",
			Hint:  "answer logging/setLevel with a result",
			Probe: func(t *check.T) {
				for _, a := range setLevels(t) {
					if a.Err != nil {
						t.Fail("a result", "no answer", "logging/setLevel with %q was not answered", a.level)
					}
					t.Mark(a.Entry)
					match.Expect(t, a.Reply).To(match.BeResult(), "logging/setLevel with %q", a.level)
					t.Saw()
				}
			},
		},
		{
			ID:    "logging.set-level.empty",
			Says:  "the server answers logging/setLevel with an empty result",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "logging",
			Rules: []string{"logging-set-level-empty-result"},
			Idle:  "no logging/setLevel was answered with a result",
			Hint:  "answer logging/setLevel with a result",
			Probe: func(t *check.T) {
				for _, a := range setLevels(t) {
					if !a.Succeeded() {
						continue
					}
					for key := range a.Message.Result().Map() {
						if key != "_meta" {
							t.Mark(a.Entry)
							t.Fail("an empty result", a.Message.Result().Raw,
								"the result of logging/setLevel has the member %q", wire.Clip(key, 80))
						}
					}
					t.Saw()
				}
			},
		},
		{
			ID:       "logging.set-level.invalid",
			Says:     "the server answers logging/setLevel with an invalid level with error -32602",
			Level:    spec.Should,
			In:       spec.Handshake,
			Needs:    "logging",
			Rules:    []string{"logging-invalid-level-code"},
			Idle:     "the server accepts no level",
			Hint:     "accept logging/setLevel with a valid level",
			Malforms: true,
			// An error shows that the server validates levels only if it accepts a valid one.
			Probe: func(t *check.T) {
				if !slices.ContainsFunc(setLevels(t), setLevel.Succeeded) {
					return
				}
				for _, params := range []check.Params{{"level": "verbose"}, {"level": "DEBUG"}, {"level": 3}, {}} {
					m := t.Request("logging/setLevel", params)
					match.Expect(t, m).To(match.BeError(spec.InvalidParams),
						"logging/setLevel with params %s", check.MustJSON(params))
					t.Saw()
				}
			},
		},
		{
			ID:       "logging.request.invalid",
			Says:     "the server answers a request for log messages of an invalid level with error -32602",
			Level:    spec.Should,
			In:       spec.Stateless,
			Needs:    "logging",
			Rules:    []string{"logging-unknown-request-level-32602"},
			Idle:     "no request with an invalid log level was sent",
			Hint:     expect.HintReply,
			Malforms: true,
			Probe: func(t *check.T) {
				for _, level := range []any{"verbose", "DEBUG", 3} {
					m := t.Request(t.Facts.BarrierMethod, check.Params{"_meta": check.Params{spec.MetaLogLevel: level}})
					match.Expect(t, m).To(match.BeError(spec.InvalidParams), "%s with the log level %#v",
						t.Facts.BarrierMethod, level)
					t.Saw()
				}
			},
		},
	}
}

// A setLevel is a level that was set, and the answer.
type setLevel struct {
	check.Reply
	level string
}

var setLevelsKey = check.NewKey[[]setLevel]("logging/setLevel")

// setLevels sets each level once at this revision, the most severe first, so that
// the session goes on with the least severe, and returns the answers. It stops at the
// first request without an answer.
func setLevels(t *check.T) []setLevel {
	if logging := t.Capabilities().Get("logging"); !logging.IsObject() {
		t.NotObserved("the capability logging is "+wire.TypeName(logging)+", not an object",
			"declare logging as an object")
	}
	return check.Once(t, setLevelsKey, func() []setLevel {
		var out []setLevel
		for _, level := range slices.Backward(spec.LogLevels()) {
			r := t.Try("logging/setLevel", check.Params{"level": level})
			out = append(out, setLevel{r, level})
			if r.Err != nil {
				break
			}
		}
		return out
	})
}
