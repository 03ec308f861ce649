package discover

import (
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
)

// noEraProbe is why the probes of the era are not observed.
const noEraProbe = "server/discover could not be sent"

// eraProbes returns the probes of servers with a handshake: a client of both eras sends
// server/discover before initialize, to find out the era of the server
// (basic/transports/stdio#backward-compatibility of 2026-07-28).
func eraProbes() []check.Check {
	return []check.Check{
		{
			ID: "discover.probe.answered",
			Says: "a server with a handshake answers server/discover before initialize: " +
				"a client of both eras waits for the answer at each start",
			Level: spec.Robust,
			In:    spec.Handshake,
			On:    transport.OnStdio, // over HTTP each request has a status
			Spec:  "basic/lifecycle#initialization",
			Idle:  noEraProbe,
			Hint:  expect.HintReply,
			// Any answer is right. A server that starts slowly may answer after initialize was
			// sent.
			Probe: func(t *check.T) {
				p := probeEra(t)
				switch {
				case p.answered:
					t.Saw()
				case p.ended != nil || !p.opening.Answered:
					t.NotObserved("the server opened no session after it, which discover.probe.survived reports",
						"answer initialize after server/discover")
				default:
					t.Sessions().Use(p.at).Fail("any answer", "no answer",
						"server/discover before initialize was not answered; initialize behind it was")
				}
			},
		},
		{
			ID: "discover.probe.survived",
			Says: "a server with a handshake opens a session after server/discover: " +
				"a client of both eras falls back to initialize",
			Level: spec.Robust,
			In:    spec.Handshake,
			On:    transport.OnStdio, // over HTTP each request stands alone
			Spec:  "basic/lifecycle#initialization",
			Idle:  noEraProbe,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				p := probeEra(t)
				on := t.Sessions().Use(p.at)
				switch {
				case p.ended != nil:
					on.Fail("an answer to initialize", p.ended.Error(),
						"the server ended at server/discover before initialize: %v", p.ended)
				case !p.opening.Answered:
					on.Fail("an answer to initialize", "no answer",
						"initialize after server/discover was not answered: %s", p.opening.Reason)
				}
				t.Saw()
			},
		},
	}
}

// An eraProbe is what a server did with server/discover before initialize.
type eraProbe struct {
	at       *check.T
	answered bool
	ended    error // why the connection ended; nil if it did not
	opening  session.Opening
}

var eraProbeKey = check.NewKey[eraProbe]("server/discover before initialize")

// probeEra sends server/discover as the first message to another instance, and then
// initialize.
func probeEra(t *check.T) eraProbe {
	return check.Once(t, eraProbeKey, func() eraProbe {
		p := eraProbe{at: t.Sessions().Unopened()}
		defer p.at.Sessions().CloseLater()
		meta := session.RequestMeta(spec.Stateless.Newest(), nil)
		call, err := p.at.TryStart("server/discover", check.Params{"_meta": meta})
		if err == nil {
			isAnswer := check.ResponseTo(call.ID)
			_, p.answered = p.at.Await(call.FrameIndex, isAnswer, p.at.Timeout())
			if p.ended = p.at.Over(); p.ended == nil {
				p.opening = p.at.Sessions().Open()
				_, late := p.at.Await(call.FrameIndex, isAnswer, 0)
				p.answered = p.answered || late
			}
		} else {
			p.ended = err
		}
		return p
	})
}
