package server

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// discover are the probes of server/discover, since 2026-07-28.
func discover() []check.Check {
	return []check.Check{
		{
			ID:    "discover.answered",
			Says:  "server/discover is answered with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"discover-implemented"},
			Probe: discoverAnswered,
		},
	}
}

func discoverAnswered(t *check.T) {
	m := t.Request("server/discover", nil)
	if !m.Result().IsObject() {
		t.Fail("a result", m.Summary(), "server/discover was answered with %s", m.Summary())
	}
}
