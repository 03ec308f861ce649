package inputrequired

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// noRetry is why several probes are not observed.
const noRetry = "no request was retried"

// probes returns the probes of basic/patterns/mrtr: how a server treats the retries
// of requests that it answered with an input_required result.
func probes() []check.Check { return slices.Concat(responseProbes(), stateProbes()) }

// responseProbes returns the probes of inputResponses.
func responseProbes() []check.Check {
	return []check.Check{
		{
			ID:    "input-required.abandoned",
			Says:  "requests that the client does not retry have no effect on the next request",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"mrtr-no-assumed-retry"},
			Idle:  "no request was left without a retry",
			Hint:  requestInput,
			Probe: func(t *check.T) {
				for r := range asking.Rounds(t, 2) {
					for range 3 {
						r.StartRound(t)
					}
					m := t.Request(r.Method, r.Params)
					match.Expect(t, m).To(match.BeResult(), "%s, after requests that were not retried", r)
					t.Saw()
				}
				t.Survives("requests that were never retried")
			},
		},
		{
			ID:       "input-required.responses.validated",
			Says:     "a retry with invalid inputResponses does not succeed",
			Level:    spec.Should,
			In:       spec.Stateless,
			Rules:    []string{"mrtr-server-validates-responses"},
			Idle:     noRetry,
			Hint:     requestInput,
			Malforms: true,
			// An error, a failure of the tool and another input_required result are right.
			Probe: func(t *check.T) {
				for r := range asking.Rounds(t, asking.MaxRounds) {
					if len(inputResponses(r)) == 0 {
						continue
					}
					invalid := check.Merge(inputResponses(r), check.Params{asking.FirstKey(r.Interim): "mcpcheck"})
					for _, responses := range []any{[]any{"mcpcheck"}, "mcpcheck", invalid} {
						m := t.Request(r.Method, check.Merge(r.Retry, check.Params{"inputResponses": responses}))
						if check.Succeeded(t, m) {
							t.Fail("an error, or another input_required result", m.Summary(),
								"%s was retried with the inputResponses %s, and succeeded", r,
								wire.Clip(string(check.MustJSON(responses)), 80))
						}
						t.Saw()
					}
				}
			},
		},
		{
			ID:       "input-required.responses.errors",
			Says:     "the server answers a retry whose inputResponses are no object with an error",
			Level:    spec.Should,
			In:       spec.Stateless,
			Rules:    []string{"mrtr-protocol-errors"},
			Idle:     noRetry,
			Hint:     requestInput,
			Malforms: true,
			Probe: func(t *check.T) {
				for r := range asking.Rounds(t, 1) {
					m := t.Request(r.Method, check.Merge(r.Retry, check.Params{"inputResponses": "mcpcheck"}))
					if check.Succeeded(t, m) {
						t.NotObserved("the retry succeeded, which input-required.responses.validated judges",
							"refuse inputResponses that are no object")
					}
					match.Expect(t, m).To(match.BeError(), "%s was retried with a string as inputResponses", r)
					t.Saw()
				}
			},
		},
		{
			ID:    "input-required.responses.extra",
			Says:  "the server ignores a response that it did not request",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-extra-responses-ignored"},
			Idle:  "no request that requests input succeeded in its second round",
			Hint:  "offer a read-only tool that succeeds when its input_required result is answered" + check.OrAllow,
			// The same request must succeed without the extra response before and after: a tool
			// may refuse to do something twice.
			Probe: func(t *check.T) {
				for r := range asking.Rounds(t, asking.MaxRounds) {
					if !check.Succeeded(t, retryWith(t, r.Trigger, nil)) {
						continue
					}
					m := retryWith(t, r.Trigger, check.Params{"mcpcheck-extra": check.Params{"action": "cancel"}})
					at := t.Marked()
					if !check.Succeeded(t, retryWith(t, r.Trigger, nil)) || m.Kind == wire.Invalid {
						continue
					}
					if !check.Succeeded(t, m) {
						t.Mark(check.FrameAt(t, at))
						t.Fail("the result that comes without it", m.Summary(),
							"%s was retried with a response that was not requested", r)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "input-required.responses.missing",
			Says:  "the server requests again what a retry does not answer",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-missing-responses-rerequested"},
			Idle:  "no request needed the response that was left out",
			Hint:  "offer a read-only tool that requests again what a retry does not answer" + check.OrAllow,
			// A success shows that the response was not needed.
			Probe: func(t *check.T) {
				for r := range asking.Rounds(t, asking.MaxRounds) {
					if len(inputResponses(r)) == 0 {
						continue
					}
					responses, key := maps.Clone(inputResponses(r)), asking.FirstKey(r.Interim)
					delete(responses, key)
					m := t.Request(r.Method, check.Merge(r.Retry, check.Params{"inputResponses": responses}))
					switch {
					case m.Kind == wire.Error || m.Result().Get("isError").Bool():
						t.Fail("an input_required result", m.Summary(),
							"%s was retried without a response to %q, and answered with %s", r, key, m.Summary())
					case session.IsInputRequired(m):
						requests := m.Result().Get("inputRequests")
						if !wire.Member(requests, key).Exists() && len(requests.Map()) == 0 {
							t.Fail("inputRequests with what is missing", m.Summary(),
								"%s was retried without a response to %q, and requests nothing", r, key)
						}
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "input-required.spontaneous",
			Says:  "the server answers a first request with inputResponses and a requestState, and goes on",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"mrtr-spontaneous-responses-harmless"},
			Idle:  "the server offers nothing that could request input",
			Hint:  "declare tools, or offer a prompt or a resource",
			// A call of an unknown tool changes nothing, so that it may always be sent.
			Probe: func(t *check.T) {
				const most = 6
				sent := 0
				if t.Declares("tools") {
					sent++
					expectAnswered(t, "tools/call", check.Params{
						"name": offer.UnknownTool, "arguments": check.Params{},
					})
				}
				for _, x := range asking.Uses(t) {
					if sent < most {
						sent++
						expectAnswered(t, x.Method, x.Params)
					}
				}
				if sent > 0 {
					t.Survives("inputResponses that it did not request")
				}
			},
		},
	}
}

// expectAnswered sends a first request with the params of a retry.
func expectAnswered(t *check.T, method string, params check.Params) {
	accepted := check.Params{"action": "accept", "content": check.Params{}}
	retry := check.Params{"requestState": "mcpcheck", "inputResponses": check.Params{"mcpcheck": accepted}}
	if err := t.Try(method, check.Merge(params, retry)).Err; err != nil {
		t.Fail("an answer to "+method, err.Error(),
			"%s was sent with inputResponses and a requestState that the server did not request: %v", method, err)
	}
	t.Saw()
}

// inputResponses returns the responses with which a round is retried.
func inputResponses(r asking.Round) check.Params {
	responses, _ := r.Retry["inputResponses"].(check.Params)
	return responses
}

// retryWith makes a request anew and retries it with extra responses. It returns the
// answer to the retry, the zero message if the server requests no input this time.
func retryWith(t *check.T, a asking.Trigger, extra check.Params) wire.Message {
	r, ok := a.StartRound(t)
	if !ok {
		return wire.Message{}
	}
	responses := check.Merge(inputResponses(r), extra)
	return t.Request(r.Method, check.Merge(r.Retry, check.Params{"inputResponses": responses}))
}
