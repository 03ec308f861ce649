package survey

import (
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// sparingTour uses the tools as clients that declare less: whether the server
// then asks for what they do not declare is judged in every session.
func sparingTour(t *check.T) {
	if !t.Facts.ElicitationModes {
		return
	}
	if !t.Facts.Stateless {
		if len(asking.Askers(t)) == 0 {
			return
		}
		other := t.Sessions().As(session.HostWithoutSubcapabilities())
		toolcalls.CallUnwatched(other)
		other.Sessions().Leave()
		return
	}
	for _, a := range asking.Askers(t) {
		for _, declared := range []check.Params{
			{}, {"roots": check.Params{}}, {"sampling": check.Params{}}, {"elicitation": check.Params{}},
			{"elicitation": check.Params{"url": check.Params{}}},
		} {
			t.Try(a.Method, check.Merge(a.Params, check.Params{"_meta": capable(declared)}))
		}
	}
}

// capable is a _meta that declares these capabilities of a client alone.
func capable(declared check.Params) check.Params {
	return check.Params{spec.MetaClientCapabilities: declared}
}
