package roots

import (
	"path/filepath"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/asking"
)

// The reasons why several probes are not observed.
const (
	requestRoots = "offer a read-only tool that requests roots" + check.OrAllow

	noChange  = "no change of the roots was notified"
	noRequest = "the server sent no roots/list"
	noRefusal = "no tool that may be called gave a file inside the root and refused one outside"
)

// probes returns the probes of client/roots.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "roots.change.survived",
			Says:  "the server survives notifications/roots/list_changed",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"roots-server-handles-list-changes"},
			Idle:  noChange,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				t.Notify("notifications/roots/list_changed", nil)
				t.Survives("notifications/roots/list_changed")
				t.Saw()
			},
		},
		{
			ID:    "roots.change.relisted",
			Says:  "a server that uses roots requests them again after a change",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"roots-server-relists"},
			Idle:  noChange,
			Hint:  requestRoots,
			// A server that keeps no roots may request them when it needs them: it never uses
			// old ones.
			Probe: func(t *check.T) {
				users := rootsUsers(t)
				at := t.Notify("notifications/roots/list_changed", nil)
				if len(users) > 0 {
					if err := t.Client().Invoke(users[0].Method, users[0].Params).Err; err != nil {
						t.NotObserved("the request that uses roots was not answered: "+err.Error(),
							"answer the request that uses roots")
					}
				}
				isRequest := func(m wire.Message) bool {
					return m.Kind == wire.Request && m.Method() == asking.ListRoots
				}
				if _, ok := t.AwaitBarrier(at, isRequest); !ok {
					t.Fail("a request roots/list", "none",
						"the server requested the roots before, and does not request them again after "+
							"notifications/roots/list_changed")
				}
				t.Saw()
			},
		},
		{
			ID:    "roots.unavailable",
			Says:  "the server answers a request that uses roots if the client has none any more",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"roots-server-handles-unavailable"},
			Idle:  noRequest,
			Hint:  requestRoots,
			Probe: func(t *check.T) {
				a := asking.TriggersFor(t, asking.ListRoots)[0]
				for _, list := range [][]any{session.RootsResult()["roots"].([]any), {}, {}} {
					asking.AnswerWith(t, asking.ListRoots, func(check.HostRequest) check.HostReply {
						return answerRoots(list...)
					})
					asking.AnnounceRootsChange(t, asking.ListRoots)
					if err := t.Client().Invoke(a.Method, a.Params).Err; err != nil {
						t.Fail("an answer to "+a.Method, err.Error(), "%s was sent while the client had %d roots: %v",
							a, len(list), err)
					}
					t.Saw()
				}
				t.Survives("the roots became unavailable")
			},
		},
		{
			ID:    "roots.boundaries",
			Says:  "the server gives no file outside of the roots",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"roots-server-respects-boundaries", "roots-server-boundaries-guideline"},
			Idle:  noRefusal,
			Hint:  "offer a read-only tool that reads files below the roots alone" + check.OrAllow,
			Probe: func(t *check.T) {
				expectRefused(t, func(inside, outside string) string { return outside })
			},
		},
		{
			ID:    "roots.paths",
			Says:  "the server refuses a path that leads out of the roots by ..",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "tools",
			Rules: []string{"roots-server-validates-paths"},
			Idle:  noRefusal,
			Hint:  "offer a read-only tool that reads files below the roots alone" + check.OrAllow,
			Probe: func(t *check.T) {
				expectRefused(t, func(inside, outside string) string {
					return filepath.Dir(inside) + "/../" + filepath.Base(filepath.Dir(outside)) + "/" +
						filepath.Base(outside)
				})
			},
		},
		{
			ID:    "roots.answers.survived",
			Says:  "the server survives any answer to roots/list, as users refuse and clients fail",
			Level: spec.Robust,
			In:    spec.Handshake,
			Spec:  "client/roots#error-handling",
			Idle:  noRequest,
			Hint:  requestRoots,
			Probe: func(t *check.T) {
				expect.SurvivesUnexpectedAnswers(t, asking.ListRoots)
				t.Saw()
				useRootsAfresh(t)
			},
		},
	}
}

// rootsUsers returns the requests on whose behalf the server requests roots. The body
// ends if the server never requested any.
func rootsUsers(t *check.T) []asking.Trigger {
	var users []asking.Trigger
	for _, a := range asking.Triggers(t) {
		if a.Requests(asking.ListRoots) {
			users = append(users, a)
		}
	}
	if len(users) == 0 && !asking.RequestedRoots(t) {
		asking.EndWithoutTrigger(t, asking.ListRoots)
	}
	return users
}

// answerRoots returns the answer of a client with some roots.
func answerRoots(roots ...any) check.HostReply {
	return check.HostReply{Result: check.Params{"roots": roots}}
}

// useRootsAfresh makes a request that uses roots twice in a session of its own, and
// refuses to list them the first time. The server lacks roots the second time, so that
// it requests them on behalf of that request: roots.cached judges that. In the shared
// session a request that was cancelled may still be open, and it is not known on
// whose behalf roots are requested.
func useRootsAfresh(t *check.T) {
	a := asking.TriggersFor(t, asking.ListRoots)[0]
	other := t.Sessions().Another()
	defer other.Sessions().CloseLater()
	refusal := check.HostReply{Code: spec.InternalError, Message: "mcpcheck lists no roots"}
	asking.AnswerWith(other, asking.ListRoots, func(check.HostRequest) check.HostReply { return refusal })
	other.Client().Invoke(a.Method, a.Params)
	other.Client().Answer(nil)
	other.Client().Invoke(a.Method, a.Params)
}
