package logging

import (
	"fmt"
	"maps"
	"slices"

	"github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// probes are the probes of server/utilities/logging. The messages themselves
// are judged in every session.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "logging.set-level.accepted",
			Says:  "logging/setLevel takes each of the eight levels",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "logging",
			Rules: []string{"logging-all-levels-accepted"},
			// levelsAccepted tells of the first level that is refused, or not answered.
			Probe: func(t *check.T) {
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
			},
		},
		{
			ID:    "logging.set-level.empty",
			Says:  "logging/setLevel is answered with an empty result",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "logging",
			Rules: []string{"logging-set-level-empty-result"},
			Probe: func(t *check.T) {
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
			},
		},
		{
			ID:       "logging.set-level.invalid",
			Says:     "a level that is none of the eight is answered with -32602",
			Level:    spec.Should,
			In:       spec.Handshake,
			Needs:    "logging",
			Rules:    []string{"logging-invalid-level-code"},
			Malforms: true,
			// levelInvalid leaves the level as it was where the server does as it should.
			Probe: func(t *check.T) {
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
			},
		},
		{
			ID:       "logging.request.invalid",
			Says:     "a request that asks for a level that is none of the eight is answered with -32602",
			Level:    spec.Should,
			In:       spec.Stateless,
			Needs:    "logging",
			Rules:    []string{"logging-unknown-request-level-32602"},
			Malforms: true,
			Probe: func(t *check.T) {
				g := gomega.NewWithT(t)
				for _, level := range []any{"verbose", "DEBUG", 3} {
					m := t.Request(t.Facts.Barrier, check.Params{"_meta": check.Params{spec.MetaLogLevel: level}})
					g.Expect(m).To(match.BeError(spec.InvalidParams), fmt.Sprintf("%s that asks for the log level %#v", t.Facts.Barrier, level))
				}
			},
		},
	}
}

var loggingSetLevelKey = check.NewKey[map[string]wire.Entry]("logging/setLevel")

// setLevels sets each level once at this revision, the mildest last, and
// returns the answers by level. The body ends at the first that stays without.
func setLevels(t *check.T) map[string]wire.Entry {
	if logging := t.Capabilities().Get("logging"); !logging.IsObject() {
		t.NotObserved("the capability logging is declared by "+wire.TypeName(logging), "")
	}
	return check.Once(t, loggingSetLevelKey, func() map[string]wire.Entry {
		out := map[string]wire.Entry{}
		for _, level := range harshestFirst() {
			e, err := t.Try("logging/setLevel", check.Params{"level": level}).Get()
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
