package survey

import (
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// useWithFewerCapabilities uses the tools as clients that declare fewer capabilities.
// Judges then examine whether the server requests what these clients do not declare.
func useWithFewerCapabilities(t *check.T) {
	if !t.Facts.ElicitationModes {
		return
	}
	if !t.Facts.Stateless {
		if len(asking.Triggers(t)) == 0 {
			return
		}
		other := t.Sessions().As(session.HostWithoutSubcapabilities())
		toolcalls.CallUnwatched(other)
		other.Sessions().CloseLater()
		return
	}
	for _, a := range asking.Triggers(t) {
		for _, declared := range []check.Params{
			{}, {"roots": check.Params{}}, {"sampling": check.Params{}}, {"elicitation": check.Params{}},
			{"elicitation": check.Params{"url": check.Params{}}},
		} {
			t.Try(a.Method, check.Merge(a.Params, check.Params{"_meta": declareCapabilities(declared)}))
		}
	}
}

// declareCapabilities returns a _meta that declares the given capabilities of a client
// and no others.
func declareCapabilities(declared check.Params) check.Params {
	return check.Params{spec.MetaClientCapabilities: declared}
}
