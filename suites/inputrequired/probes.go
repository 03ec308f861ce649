package inputrequired

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// probes are the probes of basic/patterns/mrtr: of what a server makes of the
// retries of requests that it answered with an input_required result.
func probes() []check.Check {
	return slices.Concat([]check.Check{
		{
			ID:    "mrtr.abandoned",
			Says:  "requests that are never retried leave the next one as it was",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-no-assumed-retry"},
			// roundsAbandoned leaves some requests where they ask for input, and expects
			// the next to be as good as the first.
			Probe: func(t *check.T) {
				asking.EachRound(t, 2, func(r asking.Round) {
					for range 3 {
						r.Ask(t)
					}
					m := t.Request(r.Method, r.Params)
					if m.Kind != wire.Result {
						t.Fail("the result that the first such request got", m.Summary(), "%s was asked anew after some that were never retried, and answered with %s", r, m.Summary())
					}
				})
				t.Survives("requests that were never retried")
			},
		},
		{
			ID:       "mrtr.responses.validated",
			Says:     "a retry whose inputResponses are none does not succeed",
			Level:    spec.Should,
			In:       spec.Stateless,
			Rules:    []string{"mrtr-server-validates-responses"},
			Malforms: true,
			// responsesValidated accepts an error, a failure of the tool and a renewed
			// question.
			Probe: func(t *check.T) {
				asking.EachRound(t, asking.MaxRounds, func(r asking.Round) {
					key, wrong := asking.FirstKey(r.Interim), map[string]any{}
					maps.Copy(wrong, r.Retry["inputResponses"].(check.Params))
					wrong[key] = "mcpcheck"
					for _, responses := range []any{[]any{"mcpcheck"}, "mcpcheck", wrong} {
						m := t.Request(r.Method, check.Merge(r.Retry, check.Params{"inputResponses": responses}))
						if check.Succeeded(t, m) {
							t.Fail("an error, or the question again", m.Summary(), "%s was retried with the inputResponses %s, and succeeded", r, wire.Clip(string(check.MustJSON(responses)), 80))
						}
					}
				})
			},
		},
		{
			ID:       "mrtr.responses.errors",
			Says:     "a retry whose inputResponses are no object is answered with an error",
			Level:    spec.Should,
			In:       spec.Stateless,
			Rules:    []string{"mrtr-protocol-errors"},
			Malforms: true,
			// responsesErrors leaves success to responsesValidated.
			Probe: func(t *check.T) {
				asking.EachRound(t, 1, func(r asking.Round) {
					m := t.Request(r.Method, check.Merge(r.Retry, check.Params{"inputResponses": "mcpcheck"}))
					switch {
					case check.Succeeded(t, m):
						t.NotObserved("the retry succeeded, which mrtr.responses.validated judges", "")
					case m.Kind != wire.Error:
						t.Fail("an error", m.Summary(), "%s was retried with a string as inputResponses, and answered with %s", r, m.Summary())
					}
				})
			},
		},
		{
			ID:    "mrtr.responses.extra",
			Says:  "a response that was not asked for is ignored",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-extra-responses-ignored"},
			// responsesExtra looks at requests that succeed without the surplus, before and
			// after: what a tool did once it may refuse to do again.
			Probe: func(t *check.T) {
				seen := false
				retried := func(a asking.Asker, extra check.Params) (wire.Message, bool) {
					r, ok := a.Ask(t)
					if !ok {
						return wire.Message{}, false
					}
					answers, _ := r.Retry["inputResponses"].(check.Params)
					m := t.Request(r.Method, check.Merge(r.Retry, check.Params{"inputResponses": check.Merge(answers, extra)}))
					return m, check.Succeeded(t, m)
				}
				asking.EachRound(t, asking.MaxRounds, func(r asking.Round) {
					if _, good := retried(r.Asker, nil); !good {
						return
					}
					m, good := retried(r.Asker, check.Params{"mcpcheck-extra": check.Params{"action": "cancel"}})
					at := t.Marked()
					if _, still := retried(r.Asker, nil); !still || m.Kind == wire.Invalid {
						return
					}
					if seen = true; !good {
						t.Mark(t.Frames(at)[0])
						t.Fail("the result that comes without it", m.Summary(), "%s was retried with an answer that was not asked for beside the others", r)
					}
				})
				if !seen {
					t.NotObserved("no request that asks for input succeeded in its second round", "")
				}
			},
		},
		{
			ID:    "mrtr.responses.missing",
			Says:  "what a retry leaves unanswered is asked for again",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-missing-responses-rerequested"},
			// responsesMissing leaves one answer out. Success shows that it was not needed.
			Probe: func(t *check.T) {
				seen := false
				asking.EachRound(t, asking.MaxRounds, func(r asking.Round) {
					left := maps.Clone(r.Retry["inputResponses"].(check.Params))
					key := asking.FirstKey(r.Interim)
					delete(left, key)
					m := t.Request(r.Method, check.Merge(r.Retry, check.Params{"inputResponses": left}))
					switch {
					case m.Kind == wire.Error || m.Result().Get("isError").Bool():
						t.Fail("an input_required result", m.Summary(), "%s was retried without an answer to %q, and answered with %s", r, key, m.Summary())
					case session.Interim(m):
						if asked := m.Result().Get("inputRequests"); !wire.Member(asked, key).Exists() && len(asked.Map()) == 0 {
							t.Fail("inputRequests with what is missing", m.Summary(), "%s was retried without an answer to %q, and asks for nothing", r, key)
						}
						seen = true
					}
				})
				if !seen {
					t.NotObserved("no request that asks for input was refused for want of it", "")
				}
			},
		},
		{
			ID:    "mrtr.spontaneous",
			Says:  "a first request with inputResponses and a requestState of its own making is answered, and the server lives",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-spontaneous-responses-harmless"},
			// responsesSpontaneous adds to plain requests what belongs to a retry. A name
			// that is unknown may always be sent.
			Probe: func(t *check.T) {
				unasked := check.Params{"requestState": "mcpcheck", "inputResponses": check.Params{"mcpcheck": check.Params{"action": "accept", "content": check.Params{}}}}
				tried := 0
				try := func(method string, params check.Params) {
					if _, err := t.Try(method, check.Merge(params, unasked)).Get(); err != nil {
						t.Fail("an answer to "+method, err.Error(), "%s was sent with inputResponses and a requestState that nobody asked for: %v", method, err)
					}
					tried++
				}
				if t.Declares("tools") {
					try("tools/call", check.Params{"name": offer.UnknownTool, "arguments": check.Params{}})
				}
				for _, x := range asking.Uses(t) {
					if tried < 6 {
						try(x.Method, x.Params)
					}
				}
				if tried == 0 {
					t.NotObserved("the server has nothing that could ask for input", "")
				}
				t.Survives("inputResponses that nobody asked for")
			},
		},
	}, requestStates())
}
