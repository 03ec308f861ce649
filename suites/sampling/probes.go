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

// probes are the probes of client/sampling. The shape of requests is judged
// in every session.
func probes() []check.Check {
	return []check.Check{
		{
			ID:       "sampling.result.validated",
			Says:     "content of a sampled message that is no content is not used",
			Level:    spec.Should,
			In:       spec.Every,
			Rules:    []string{"sampling-validate-content"},
			Malforms: true,
			// sampleValidated accepts any form of refusal.
			Probe: func(t *check.T) {
				var u asking.UnusableCount
				for _, a := range asking.AskersFor(t, asking.CreateMessage) {
					for _, block := range []check.Params{
						{"type": "text", "text": check.Params{"mcpcheck": asking.Marker}},
						{"type": "mcpcheck-unknown", "text": asking.Marker},
					} {
						asking.Answering(t, asking.CreateMessage, func(check.Asked) check.ClientAnswer {
							result := session.Sampled("")
							result["content"] = block
							return check.ClientAnswer{Result: result}
						})
						e, err := t.Client().Invoke(a.Method, a.Params).Get()
						if err != nil {
							continue // sampling.answers.survived
						}
						if u.Take(t, e.Message); u.Used > 0 {
							t.Mark(e)
							t.Fail("a failure of the request", e.Message.Summary(), "%s was given a message whose content is %s, and used it", a, check.MustJSON(block))
						}
					}
				}
				if u.Refused == 0 {
					t.NotObserved("what was asked for by sampling did not show in any result", "")
				}
			},
		},
		{
			ID:    "sampling.tools.limited",
			Says:  "a model that uses a tool each time it is asked is not asked without end",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-iteration-limits"},
			// toolLoopLimited answers by a use of a tool until the server has had enough.
			Probe: func(t *check.T) {
				for _, a := range asking.AskersFor(t, asking.CreateMessage) {
					if !a.Of(asking.CreateMessage)[0].Params.Get("tools.0").IsObject() {
						continue
					}
					var turns atomic.Int64
					asking.Answering(t, asking.CreateMessage, func(asked check.Asked) check.ClientAnswer {
						n := turns.Add(1)
						if n > maxTurns || asked.Params.Get("toolChoice.mode").String() == "none" || !asked.Params.Get("tools.0").Exists() {
							return check.ClientAnswer{Result: session.Sampled("That is all.")}
						}
						return check.ClientAnswer{Result: session.UsedTool(asked.Params, fmt.Sprintf("mcpcheck-use-%d", n))}
					})
					ended := invokeLong(t, a, maxTurns+1)
					switch n := turns.Load(); {
					case n > maxTurns:
						t.Fail("an end of the loop", fmt.Sprintf("%d turns", n), "%s asked the model again each time it used a tool", a)
					case ended && n > 1:
						return
					}
				}
				t.NotObserved("no tool that may be called lets the model use tools for more than one turn", check.AllowHint(toolcalls.Calls(t).Held))
			},
		},
		{
			ID:       "sampling.answers.survived",
			Says:     "a request that asks for sampling is answered whatever the client answers, and the server lives",
			Level:    spec.Robust,
			In:       spec.Handshake,
			Spec:     "client/sampling#error-handling",
			Malforms: true,
			Probe:    func(t *check.T) { expect.AnswersSurvived(t, asking.CreateMessage) },
		},
	}
}

// maxTurns is more than any loop that helps a user.
const maxTurns = 60

// invokeLong is Invoke for more rounds than it takes; it tells whether the
// request came to an end.
func invokeLong(t *check.T, a asking.Asker, most int) bool {
	e, err := t.Try(a.Method, a.Params).Get()
	for n := 0; err == nil && n < most && session.Interim(e.Message); n++ {
		retry, ok := t.Client().Retry(a.Params, e.Message.Result())
		if !ok {
			return false
		}
		e, err = t.Try(a.Method, retry).Get()
	}
	return err == nil && !session.Interim(e.Message)
}
