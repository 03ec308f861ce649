package roots

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of client/roots.
func judges() []check.Check {
	params := transcript.ShapeChecks([]transcript.ShapeCheck{{
		Check: check.Check{
			ID:    "roots.request.params",
			Says:  "the params of roots/list are an object, if there are any",
			In:    spec.Every,
			Rules: []string{"roots-request-no-required-params"},
		},
		Method: "roots/list",
	}}, nil)
	shape := params[0].Judge
	params[0].Judge = func(j *check.J) {
		positionalRoots(j)
		shape(j)
	}
	return append(params, check.Check{
		ID:    "roots.cached",
		Says:  "roots are not asked for twice on behalf of one request",
		Level: spec.Should,
		In:    spec.Handshake,
		Rules: []string{"roots-server-caches"},
		// rootsCached holds against a server only what no cache explains: that it asks
		// again during the one request that it is at work on, though it got roots
		// during it and no change was announced. It may ask once for each change, and
		// once for the start of the session, on its own account.
		Judge: func(j *check.J) {
			open := map[string]bool{}   // requests of the client
			asked := map[string]bool{}  // requests for roots on behalf of one
			got := false                // roots, since only one request was open
			copies := map[string]bool{} // requests of the server, which HTTP may bring twice
			own := 1                    // asks on its own account that are due: one at first, and one for each change
			for _, e := range j.Entries() {
				for _, m := range e.Message.Elements() {
					switch key := m.ID().Key(); {
					case m.Method() == "notifications/roots/list_changed":
						got = false
						own++
					case e.From != j.Of && m.Kind == wire.Request:
						if m.Method() != "initialize" { // what comes that early has a judge of its own
							open[key] = true
						}
						got = false
					case e.From == j.Of && m.IsResponse():
						delete(open, key)
						got = false
					case e.From == j.Of && m.Method() == "roots/list" && e.HTTP != nil && copies[string(m.Raw)]:
					case e.From == j.Of && m.Method() == "roots/list" && own > 0:
						copies[string(m.Raw)] = true
						own--
					case e.From == j.Of && m.Method() == "roots/list" && aside(j, e):
					case e.From == j.Of && m.Method() == "roots/list":
						copies[string(m.Raw)] = true
						if asked[key] = true; got {
							j.Fail(e, "the server asks for the roots again during one request, and they did not change")
						} else if len(open) == 1 {
							j.Saw()
						}
					case e.From != j.Of && m.Kind == wire.Result && asked[key]:
						got = len(open) == 1
					}
				}
			}
		},
	})
}

// positionalRoots judges requests for roots whose params are no object, which
// are no ListRootsRequest to go by.
func positionalRoots(j *check.J) {
	for _, e := range j.Sent() {
		for _, m := range e.Message.Elements() {
			if transcript.IsRootsRequest(j, m) && m.Misfit != nil && m.Misfit.Member == "params" {
				j.Fail(e, "the request roots/list: %s", m.Misfit.What)
			}
		}
	}
}

// aside tells whether a request of the server came on a stream that no request of
// the client opened, beside those that answer: on whose behalf, and when it was
// sent, is not known.
func aside(j *check.J, e wire.Entry) bool {
	h := j.ExchangeOf(e)
	return h != nil && len(h.Posted()) == 0 && !slices.ContainsFunc(h.Came, func(m check.Moment) bool { return m.Message.IsResponse() })
}
