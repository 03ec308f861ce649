package jsonrpc

import (
	"slices"
	"strings"

	"github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// probes are the probes of basic/index#messages (basic/messages in
// 2024-11-05): how requests, responses and notifications are answered.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.id.types",
			Says:  "requests with string and with integer ids are answered",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-id-types-accepted"},
			// idTypes asks with every kind of id that the schema allows. An answer under
			// another id is judged by itself in every session: here it counts as one, so
			// that one cause is one failure.
			Probe: func(t *check.T) {
				ids := []wire.ID{
					wire.StringID("abc"), wire.StringID(""), wire.StringID("7"), wire.StringID(strings.Repeat("long-id-", 32)), wire.StringID("žluťoučký 漢字 \u2028"),
					wire.IntID(0), wire.IntID(-1), wire.IntID(9007199254740991),
				}
				mine := map[string]bool{}
				for _, id := range ids {
					mine[id.Key()] = true
					call := t.Start(t.Facts.Barrier, nil, id)
					m, ok := t.Await(call.Sent, func(m wire.Message) bool {
						return m.IsResponse() && (m.ID().Equal(id) || !mine[m.ID().Key()])
					})
					switch {
					case !ok:
						t.Answer(call) // tells how the server is
					case m.Kind != wire.Result:
						t.Fail("a result", m.Summary(), "%s with the id %s was answered with %s", t.Facts.Barrier, wire.Clip(id.Raw, 40), m.Summary())
					}
				}
				// Readers that hold numbers as doubles may refuse a greater one (RFC 8259
				// section 6). If they answer, the id is judged as that of any response.
				call := t.Start(t.Facts.Barrier, nil, wire.IntID(9007199254740993))
				if _, ok := t.AwaitBarrier(call.Sent, func(m wire.Message) bool { return m.IsResponse() && !ours(t, call.Sent+1, m) }); !ok {
					t.Note("a request with the id %s, beyond 2^53, was not answered", call.ID)
				}
			},
		},
		{
			ID:    "jsonrpc.response.each",
			Says:  "each of many requests at once is answered",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-every-request-answered"},
			// eachAnswered sends many requests before it reads an answer; they may come in
			// any order.
			Probe: func(t *check.T) {
				var calls []*check.Call
				for range 20 {
					calls = append(calls, t.Start(t.Facts.Barrier, nil))
				}
				for _, c := range calls {
					t.Answer(c)
				}
			},
		},
		{
			ID:    "jsonrpc.method.unknown",
			Says:  "a request for an unknown method is answered with error -32601",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-method-not-found"},
			Probe: func(t *check.T) {
				gomega.NewWithT(t).Expect(t.Request("mcpcheck/no-such-method", nil)).To(match.BeError(spec.MethodNotFound))
			},
		},
		{
			ID:    "jsonrpc.method.unadvertised",
			Says:  "a method of a capability that is not declared is answered with error -32601",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-method-not-found-unadvertised"},
			// unadvertisedMethod asks for the lists of what is not declared. One that has
			// entries shows a feature that is not declared, which is judged apart.
			Probe: func(t *check.T) {
				asked := false
				for _, list := range []string{"tools", "prompts", "resources"} { // each a capability by that name
					if t.Declares(list) {
						continue
					}
					m := t.Request(list+"/list", nil)
					if m.Kind == wire.Result && len(m.Result().Get(list).Array()) > 0 {
						continue
					}
					asked = true
					gomega.NewWithT(t).Expect(m).To(match.BeError(spec.MethodNotFound))
				}
				if !asked {
					t.NotObserved("the server declares tools, prompts and resources", "")
				}
			},
		},
		{
			ID:    "jsonrpc.params.invalid",
			Says:  "a known method without a required parameter is answered with an error",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-invalid-params"},
			// invalidParams calls methods of declared capabilities without what they
			// require. tools/call is left out: it has rules of its own. That there is an
			// error is due; no keyword gives it its code, which the pages of the methods
			// advise.
			Probe: func(t *check.T) {
				g := gomega.NewWithT(t)
				asked := false
				for _, m := range []struct{ capability, method string }{{"resources", "resources/read"}, {"prompts", "prompts/get"}, {"completions", "completion/complete"}} {
					if !t.Declares(m.capability) {
						continue
					}
					answer := t.Request(m.method, check.Params{})
					code, _ := answer.Code()
					if code == spec.MethodNotFound {
						continue // that a declared method is not known is judged apart
					}
					asked = true
					g.Expect(answer).To(match.BeError(), m.method)
					if code != spec.InvalidParams {
						t.Note("%s without its parameters was answered with %d rather than -32602", m.method, code)
					}
				}
				if !asked {
					t.NotObserved("the server declares none of resources, prompts and completions", "")
				}
			},
		},
		{
			ID:    "jsonrpc.notification.silent",
			Says:  "a notification is not answered, be it unknown or malformed",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-no-response-to-notification", "jsonrpc-no-error-for-bad-notification"},
			// notificationIsSilent sends an unknown notification, one that refers to
			// nothing, and two with ill-typed params. None has an id, so any response that
			// names no request of ours answers one of them.
			Probe: func(t *check.T) {
				never := wire.StringID("mcpcheck-never-sent")
				from := oddNotifications(t)
				t.Forbid(from, "no answer to a notification", func(m wire.Message) bool {
					return m.IsResponse() && (!m.ID().Present() || m.ID().Null() || m.ID().Equal(never))
				})
			},
		},
		{
			ID:    "jsonrpc.notification.survived",
			Says:  "the server goes on answering after a notification that is unknown or malformed",
			Level: spec.Robust,
			In:    spec.Every,
			Spec:  "basic/index#notifications",
			Probe: func(t *check.T) {
				oddNotifications(t)
				t.Survives("a notification that is unknown or malformed")
			},
		},
		{
			ID:       "jsonrpc.parse-error",
			Says:     "text that is not JSON is answered with error -32700",
			Level:    spec.Should,
			In:       spec.Every,
			Rules:    []string{"jsonrpc-parse-error"},
			Malforms: true,
			// parseError: many servers drop such a line silently, which is warned about.
			// It is wrong at once: a reader that minds no newlines would take a truncated
			// one for the beginning of what comes next, and wait.
			// The id of the answer is judged apart.
			Probe: func(t *check.T) {
				from := t.Send(`{"jsonrpc":"2.0","method":}`)
				m, ok := t.AwaitBarrier(from, func(m wire.Message) bool { return m.Kind == wire.Error && !ours(t, from, m) })
				if !ok {
					t.Survives("a line that is not JSON")
					if status := t.HTTP().Status(from); t.Facts.Stateless && status >= 300 && !posting.Unavailable(status) {
						t.Note("text that is not JSON was answered by HTTP alone, with status %d", status)
						return
					}
					if posting.RefusedByHTTP(t, from, "text that is not JSON") {
						return
					}
					t.Fail("error -32700", "no answer", "a line that is not JSON was not answered")
				}
				if code, _ := m.Code(); code == spec.HeaderMismatch && t.Facts.Stateless && posting.OverHTTP(t) {
					return // its headers say what the text does not
				}
				gomega.NewWithT(t).Expect(m).To(match.BeError(spec.ParseError))
			},
		},
		{
			ID:       "jsonrpc.request.invalid",
			Says:     "JSON that is no valid request is answered with an error, best -32600",
			Level:    spec.Should,
			In:       spec.Every,
			Rules:    []string{"jsonrpc-invalid-request"},
			Malforms: true,
			// invalidRequest sends requests that lack jsonrpc or have a method that is no
			// string. Whatever error comes is accepted; a result or silence is warned
			// about.
			Probe: func(t *check.T) {
				for _, edit := range []struct{ what, old, new string }{
					{"without jsonrpc", `"jsonrpc":"2.0",`, ``},
					{"with a numeric method", `"method":"` + t.Facts.Barrier + `"`, `"method":5`},
				} {
					id, what := t.NextID(), edit.what
					from := t.Send(strings.Replace(t.Frame(id, t.Facts.Barrier, nil), edit.old, edit.new, 1))
					m, ok := t.AwaitBarrier(from, func(m wire.Message) bool {
						return m.IsResponse() && (m.ID().Equal(id) || check.IsErrorWithoutID(m))
					})
					switch {
					case !ok && posting.RefusedByHTTP(t, from, "a request "+what):
					case !ok:
						t.Survives("a request " + what)
						t.Fail("an error, best -32600", "no answer", "a request %s was not answered", what)
					case m.Kind == wire.Result:
						t.Fail("an error, best -32600", m.Summary(), "a request %s was answered with a result", what)
					}
				}
			},
		},
		{
			ID:       "jsonrpc.id.fraction.survived",
			Says:     "the server goes on answering after a request whose id is a number with a fraction",
			Level:    spec.Robust,
			In:       spec.Every,
			Spec:     "basic/index#requests",
			Malforms: true,
			// fractionSurvived sends a request whose id is a number with a fraction, which
			// no id may be. Whether it is refused, served or dropped is not judged; an
			// answer under an id that it did not have is, as that of any response
			// (jsonrpc.response.id).
			Probe: func(t *check.T) {
				t.Send(t.Frame(wire.ID{Raw: "1000001.5"}, t.Facts.Barrier, nil))
				t.Survives("a request whose id is a number with a fraction")
			},
		},
		{
			ID:       "jsonrpc.case",
			Says:     "member and method names are matched by case",
			Level:    spec.Should,
			In:       spec.Every,
			Rules:    []string{"jsonrpc-case-sensitive-members"},
			Malforms: true,
			// caseSensitive: a success result is what shows that case was folded; a
			// request whose method member is misspelled need not be answered.
			Probe: func(t *check.T) {
				id := t.NextID()
				from := t.Send(strings.Replace(t.Frame(id, t.Facts.Barrier, nil), `"method"`, `"Method"`, 1))
				upper := strings.ToUpper(t.Facts.Barrier)
				call := t.Start(upper, nil)
				if m, ok := t.Await(call.Sent, check.ResponseTo(call.ID)); ok && m.Kind == wire.Result {
					t.Fail("error -32601", m.Summary(), "the method %s was served, in the wrong case", upper)
				} else if !ok && !t.HTTP().Refused(call.Sent) {
					t.Answer(call) // tells how the server is
				}
				t.Forbid(from, "no result for a request whose member is called Method", func(m wire.Message) bool {
					return m.Kind == wire.Result && m.ID().Equal(id)
				})
			},
		},
	}
}

func oddNotifications(t *check.T) (from int) {
	from = t.Notify("notifications/mcpcheck/unknown", nil)
	check.SendUnmatchedCancellations(t)
	if !t.Facts.Stateless {
		t.Notify("notifications/progress", nil)
	}
	return from
}

// ours tells whether a response has the id of something that we sent after a
// frame.
func ours(t *check.T, from int, m wire.Message) bool {
	return m.ID().Usable() && slices.ContainsFunc(t.Frames(from), func(e wire.Entry) bool {
		return e.From == wire.Client && slices.ContainsFunc(e.Message.Elements(), func(sent wire.Message) bool { return sent.ID().Equal(m.ID()) })
	})
}
