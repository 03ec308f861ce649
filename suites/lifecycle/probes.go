package lifecycle

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// probes returns the probes of basic/lifecycle: the handshake until 2025-11-25, and
// the methods of declared capabilities.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "lifecycle.initialize.answered",
			Says:  "the server answers initialize with a result",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-base-required", "lifecycle-server-initialize-response"},
			Idle:  "no session was opened",
			Hint:  expect.HintReply,
			// No check runs if no session could be opened, and the failure is reported under
			// this check: here the opening of the session is the evidence.
			Probe: func(t *check.T) {
				answer := t.Opening().Answer
				t.Mark(answer)
				match.Expect(t, answer.Message).To(match.BeResult(), "initialize")
				t.Saw()
			},
		},
		{
			ID:       "lifecycle.initialize.params",
			Says:     "the server refuses an initialize that lacks a required parameter with error -32602",
			Level:    spec.Should,
			In:       spec.Handshake,
			Session:  check.UnopenedSession,
			Malforms: true,
			Rules:    []string{"lifecycle-initialize-missing-params-rejected"},
			Idle:     "no initialize was answered",
			Hint:     expect.HintReply,
			// Error -32600, that the request as a whole is invalid, is accepted too, and over
			// HTTP any status of 4xx. The probe ends at the first result: then the server is
			// in a session.
			Probe: func(t *check.T) {
				for _, without := range []string{"", "protocolVersion", "capabilities", "clientInfo"} {
					params := check.InitializeParams(string(t.Rev))
					what := "initialize without " + without
					if delete(params, without); without == "" {
						params, what = nil, "initialize without params"
					}
					r := t.Try("initialize", params)
					if !isRefusedByStatus(r) {
						if r.Err != nil {
							t.Fail("error -32602", r.Err.Error(), "%s was not answered: %v", what, r.Err)
						}
						match.Expect(t, r).To(match.BeError(spec.InvalidParams, spec.InvalidRequest), what)
					}
					t.Saw()
				}
			},
		},
		{
			ID: "lifecycle.initialize.extra",
			Says: "the server serves an initialize with members that the schema does not name, in its params, the" +
				" capabilities and clientInfo: later clients send more",
			Level:   spec.Robust,
			In:      spec.Handshake,
			Session: check.UnopenedSession,
			Spec:    "basic/lifecycle#initialization",
			Idle:    "no initialize was answered",
			Hint:    expect.HintReply,
			// lifecycle.initialize.answered judges an initialize without them.
			Probe: func(t *check.T) {
				extra := check.Params{"mcpcheck": check.Params{"note": []any{1, nil}}}
				params := check.Merge(check.InitializeParams(string(t.Rev)), extra)
				params["capabilities"] = check.Merge(extra, check.Params{"experimental": extra})
				params["clientInfo"] = check.Merge(extra, check.Params{"name": "mcpcheck", "version": "0.1.0"})
				const what = "initialize with members that the schema does not name"
				r := t.Try("initialize", params)
				if posting.RefusalStatus(r.Err) == http.StatusNotFound {
					return // it takes it for a message of a session that has ended
				}
				if r.Err != nil {
					t.Fail("a result, as without them", "no answer", "%s: %v", what, r.Err)
				}
				match.Expect(t, r).To(match.BeResult(), what)
				t.Saw()
			},
		},
		{
			ID:      "lifecycle.initialized.awaited",
			Says:    "before notifications/initialized the server sends no request but ping",
			Level:   spec.Should,
			In:      spec.Handshake,
			Session: check.UnopenedSession,
			Rules:   []string{"lifecycle-server-waits-for-initialized"},
			Idle:    "no initialize was answered",
			Hint:    expect.HintReply,
			// The client declares all capabilities, so that a server which wants to send it
			// requests may do so, and the server answers a ping before notifications/initialized.
			Probe: func(t *check.T) {
				const acceptAll = "answer initialize of a client that declares all capabilities with a result"
				params := check.InitializeParams(string(t.Rev))
				params["capabilities"] = t.Client().Capabilities()
				switch r := t.Try("initialize", params); {
				case r.Err != nil: // another rule
					t.NotObserved("initialize with all client capabilities was not answered: "+r.Err.Error(), acceptAll)
				case !r.Succeeded():
					t.NotObserved("initialize with all client capabilities was answered with "+r.Message.Summary(),
						acceptAll)
				}
				const rule = "no request but ping before notifications/initialized"
				t.Forbid(t.Marked()+1, rule, func(m wire.Message) bool {
					return m.Kind == wire.Request && m.Method() != "ping"
				})
				t.Saw()
			},
		},
		{
			ID: "lifecycle.initialize.first",
			Says: "the server serves no list before initialize: no version and no capabilities are agreed on," +
				" and a client that forgets initialize would not notice",
			Level: spec.Robust,
			In:    spec.Handshake,
			On:    transport.OnStdio, // over HTTP a server without sessions cannot know what came before
			Spec:  "basic/lifecycle#initialization",
			Idle:  "the server serves no list after initialize",
			Hint:  "declare tools, prompts or resources, and answer their lists",
			// The clause binds both sides, but only the client sends initialize. Whatever the
			// server does instead of serving the list refuses the request.
			Probe: func(t *check.T) {
				for _, l := range offer.Lists(t) {
					if len(offer.WalkOnce(t, l).Pages) == 0 {
						continue
					}
					early := t.Sessions().Unopened()
					defer early.Sessions().CloseLater()
					if r := early.Try(l.Method, nil); r.Err == nil {
						match.Expect(early, r).NotTo(match.BeResult(), "%s was sent before initialize", l.Method)
					}
					t.Saw()
					return
				}
			},
		},
		{
			ID:    "lifecycle.capabilities.served",
			Says:  "the server knows the methods of the capabilities that it declares",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-respect-declared-capabilities"},
			Idle:  "the server declares none of the capabilities that have a list",
			Hint:  "declare tools, prompts or resources",
			// Any answer shows that the method exists, except that it is unknown; the checks
			// of each page judge the answer.
			Probe: func(t *check.T) {
				for _, c := range []string{"tools", "prompts", "resources"} {
					if !t.Declares(c) {
						continue
					}
					match.Expect(t, t.Request(c+"/list", nil)).NotTo(match.BeError(spec.MethodNotFound),
						"the server declares %s, but does not know %s/list", c, c)
					t.Saw()
				}
			},
		},
	}
}

// isRefusedByStatus reports whether a status of HTTP says that the client is at fault,
// alone or beside an error.
func isRefusedByStatus(r check.Reply) bool {
	return posting.ClientErrorStatus(r.Err) != 0 ||
		r.Message.Kind == wire.Error && r.HTTP != nil && posting.IsClientError(r.HTTP.Status)
}
