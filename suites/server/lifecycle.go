package server

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/tidwall/gjson"
)

// lifecycle are the probes of basic/lifecycle: the handshake up to 2025-11-25.
func lifecycle() []check.Check {
	return []check.Check{
		{
			ID:    "lifecycle.initialize.answered",
			Says:  "initialize is answered with the server's capabilities and implementation information",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-server-initialize-response"},
			Probe: initializeAnswered,
		},
		{
			ID:    "versioning.counter-offer",
			Says:  "initialize with a version that the server cannot know is answered with another version",
			Level: spec.Must,
			In:    spec.Handshake,
			Bare:  true,
			Rules: []string{"versioning-server-counter-offer"},
			Probe: counterOffer,
		},
	}
}

func initializeAnswered(t *check.T) {
	result := t.Opening().Answer.Message.Result()
	for _, member := range []string{"capabilities", "serverInfo"} {
		if !result.Get(member).Exists() {
			t.Mark(t.Opening().Answer)
			t.Fail("a result with capabilities and serverInfo", result.Raw, "the result of initialize has no %s", member)
		}
	}
}

// counterOffer asks for versions before and after all that exist. The page
// requires a result with another version, and in its error example shows
// -32602 with the supported versions: that is not failed.
func counterOffer(t *check.T) {
	for _, version := range []string{"1999-01-01", "2999-01-01"} {
		m := t.Request("initialize", check.Params{"protocolVersion": version, "capabilities": check.Params{}, "clientInfo": check.Params{"name": "mcpcheck", "version": "0.1.0"}})
		offered := m.Result().Get("protocolVersion")
		switch {
		case m.Kind == wire.Error && m.Error().Get("data.supported").IsArray():
			t.Note("%s was refused with an error that lists the supported versions, as in the example of the page", version)
			return
		case m.Kind != wire.Result || offered.Type != gjson.String:
			t.Fail("a result with another protocolVersion", m.Summary(), "initialize with %s was answered with %s", version, m.Summary())
		case offered.String() == version:
			t.Fail("a version that the server supports", version, "the server accepted the version %s, which does not exist", version)
		}
		return
	}
}
