package sampling

import (
	"fmt"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// probes returns the probes of client/sampling. Judges judge the shape of requests.
func probes() []check.Check {
	return []check.Check{
		{
			ID:       "sampling.result.validated",
			Says:     "the server does not use a sampled message whose content is invalid",
			Level:    spec.Should,
			In:       spec.Every,
			Rules:    []string{"sampling-validate-content"},
			Idle:     "no result shows whether the server used what the client sampled",
			Hint:     "offer a read-only tool that samples and returns what the client sampled" + check.OrAllow,
			Malforms: true,
			// Any form of refusal is right. sampling.answers.survived judges a missing answer.
			Probe: func(t *check.T) {
				for _, a := range asking.TriggersFor(t, asking.CreateMessage) {
					for _, block := range invalidBlocks() {
						asking.AnswerWith(t, asking.CreateMessage, func(check.HostRequest) check.HostReply {
							result := session.SamplingResult("")
							result["content"] = block
							return check.HostReply{Result: result}
						})
						r := t.Client().Invoke(a.Method, a.Params)
						if r.Err != nil {
							continue
						}
						var count asking.AnswerCount
						count.Count(t, r.Message)
						if count.Used > 0 {
							t.Mark(r.Entry)
							t.Fail("a failure of the request", r.Message.Summary(),
								"%s received a sampled message with the content %s, and used it", a,
								check.MustJSON(block))
						}
						if count.Refused > 0 {
							t.Saw()
						}
					}
				}
			},
		},
		{
			ID:    "sampling.tools.limited",
			Says:  "the server ends a loop in which the model uses a tool each time",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-iteration-limits"},
			Idle:  noToolLoop,
			Hint:  "offer a read-only tool that samples with tools" + check.OrAllow,
			Probe: func(t *check.T) {
				for _, a := range asking.TriggersFor(t, asking.CreateMessage) {
					if !a.RequestsOf(asking.CreateMessage)[0].Params.Get("tools.0").IsObject() {
						continue
					}
					var turns atomic.Int64
					asking.AnswerWith(t, asking.CreateMessage, func(asked check.HostRequest) check.HostReply {
						n := turns.Add(1)
						isLast := asked.Params.Get("toolChoice.mode").String() == "none" ||
							!asked.Params.Get("tools.0").Exists()
						if n > maxTurns || isLast {
							return check.HostReply{Result: session.SamplingResult("That is all.")}
						}
						return check.HostReply{Result: session.ToolUseResult(asked.Params,
							fmt.Sprintf("mcpcheck-use-%d", n))}
					})
					ended := invokeLong(t, a, maxTurns+1)
					switch n := turns.Load(); {
					case n > maxTurns:
						t.Fail("an end of the loop", fmt.Sprintf("%d turns", n),
							"%s requested another message each time the model used a tool", a)
					case ended && n > 1:
						t.Saw()
						return
					}
				}
				t.NotObserved(noToolLoop, check.AllowHint(toolcalls.Calls(t).NotAllowed))
			},
		},
		{
			ID:       "sampling.answers.survived",
			Says:     "the server survives any answer to sampling/createMessage, as users refuse and clients fail",
			Level:    spec.Robust,
			In:       spec.Handshake,
			Spec:     "client/sampling#error-handling",
			Idle:     "the server sent no sampling/createMessage",
			Hint:     offerSampling,
			Malforms: true,
			Probe: func(t *check.T) {
				expect.SurvivesUnexpectedAnswers(t, asking.CreateMessage)
				t.Saw()
			},
		},
	}
}

// invalidBlocks returns content that no sampled message may have.
func invalidBlocks() []check.Params {
	return []check.Params{
		{"type": "text", "text": check.Params{"mcpcheck": asking.Marker}},
		{"type": "mcpcheck-unknown", "text": asking.Marker},
	}
}

// noToolLoop is why sampling.tools.limited is not observed.
const noToolLoop = "no tool that may be called lets the model use tools for more than one turn"

// maxTurns is more than any loop that helps a user.
const maxTurns = 60

// invokeLong is like Invoke for more rounds than that makes. It reports whether the
// request was completed.
func invokeLong(t *check.T, a asking.Trigger, most int) bool {
	r := t.Try(a.Method, a.Params)
	for n := 0; r.Err == nil && n < most && session.IsInputRequired(r.Message); n++ {
		retry, ok := t.Client().Retry(a.Params, r.Message.Result())
		if !ok {
			return false
		}
		r = t.Try(a.Method, retry)
	}
	return r.Err == nil && !session.IsInputRequired(r.Message)
}
