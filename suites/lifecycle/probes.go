package lifecycle

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// probes are the probes of basic/lifecycle: the handshake up to 2025-11-25,
// and what capabilities promise in every revision.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "lifecycle.initialize.answered",
			Says:  "initialize is answered with a result",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-base-required", "lifecycle-server-initialize-response"},
			// initializeAnswered: no check is run at all where no session could be opened,
			// and this one is told then; so here the opening is the evidence.
			Probe: func(t *check.T) {
				if m := t.Opening().Answer.Message; m.Kind != wire.Result {
					t.Mark(t.Opening().Answer)
					t.Fail("a result", m.Summary(), "initialize was answered with %s", m.Summary())
				}
			},
		},
		{
			ID:       "lifecycle.initialize.params",
			Says:     "initialize without one of its required parameters is refused as invalid params",
			Level:    spec.Should,
			In:       spec.Handshake,
			Session:  check.UnopenedSession,
			Malforms: true,
			Rules:    []string{"lifecycle-initialize-missing-params-rejected"},
			// initializeParams leaves out all params, then one after the other. A server
			// that goes along is in a session then, which is where the probe ends. That the
			// request as a whole is invalid, -32600, says as much, and over HTTP any status
			// of 4xx.
			Probe: func(t *check.T) {
				for _, without := range []string{"", "protocolVersion", "capabilities", "clientInfo"} {
					params := check.InitializeParams(string(t.Rev))
					what := "initialize without " + without
					if delete(params, without); without == "" {
						params, what = nil, "initialize without params"
					}
					e, err := t.Try("initialize", params).Get()
					if posting.StatusBlamingClient(err) != 0 || e.Message.Kind == wire.Error && e.HTTP != nil && posting.BlamesClient(e.HTTP.Status) {
						continue
					}
					if err != nil {
						t.Fail("error -32602", err.Error(), "%s was not answered: %v", what, err)
					}
					m := e.Message
					if code, _ := m.Code(); m.Kind != wire.Error || code != spec.InvalidParams && code != spec.InvalidRequest {
						t.Fail("error -32602", m.Summary(), "%s was answered with %s", what, m.Summary())
					}
				}
			},
		},
		{
			ID:      "lifecycle.initialized.awaited",
			Says:    "between its answer to initialize and notifications/initialized the server sends no request but ping",
			Level:   spec.Should,
			In:      spec.Handshake,
			Session: check.UnopenedSession,
			Rules:   []string{"lifecycle-server-waits-for-initialized"},
			// initializedAwaited declares all that a client can, so that a server that
			// wants to ask for something may, and has it answer a ping in between.
			Probe: func(t *check.T) {
				params := check.InitializeParams(string(t.Rev))
				params["capabilities"] = t.Client().Capabilities()
				if m := t.Request("initialize", params); m.Kind != wire.Result {
					t.NotObserved("initialize with all client capabilities was answered with "+m.Summary(), "")
				}
				t.Forbid(t.Marked()+1, "no request but ping before notifications/initialized", func(m wire.Message) bool {
					return m.Kind == wire.Request && m.Method() != "ping"
				})
			},
		},
		{
			ID:    "lifecycle.capabilities.served",
			Says:  "the methods of a declared capability are known",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-respect-declared-capabilities"},
			Probe: func(t *check.T) { capabilitiesServed(t, "tools", "prompts", "resources") },
		},
	}
}

// capabilitiesServed asks for the lists of declared capabilities. Any answer
// but that the method is unknown shows that it is there; what an answer must
// be is judged with the page of each.
func capabilitiesServed(t *check.T, capabilities ...string) {
	asked := false
	for _, c := range capabilities {
		if !t.Declares(c) {
			continue
		}
		asked = true
		m := t.Request(c+"/list", nil)
		if code, _ := m.Code(); code == spec.MethodNotFound {
			t.Fail("a result", m.Summary(), "the server declares %s, and answers %s/list with %s", c, c, m.Summary())
		}
	}
	if !asked {
		t.NotObserved("the server declares none of the capabilities that have a list", "")
	}
}
