package lifecycle

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
	"github.com/mcpcheck/mcpcheck/suites/view"
)

// noInitialize is why judges of the opening are not observed.
const noInitialize = "the client did not send initialize"

// clientOpeningJudges returns the judges of clients of basic/lifecycle, and of the
// fields in basic/index that replace the handshake since 2026-07-28.
func clientOpeningJudges() []check.Check {
	return []check.Check{
		{
			ID:    "lifecycle.client.initialize.first",
			Says:  "the client sends nothing before initialize but pings and server/discover",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-initialize-first"},
			Idle:  noInitialize,
			Hint:  "let the client send initialize",
			// A client of both eras may open with server/discover
			// (basic/transports/stdio#backward-compatibility since 2026-07-28), and responses
			// may answer a ping of the server.
			Judge: func(j *check.J) {
				ask, _, _ := transcript.FindInitialize(j.Entries())
				for _, e := range j.Sent() {
					switch m := e.Message; {
					case m.Method() == "initialize":
						j.Saw()
						return
					case ask.Message.Kind == wire.Request && !isSentBefore(e, ask): // it may have overtaken initialize
					case m.Method() == "ping" || m.Method() == "server/discover" || m.IsResponse():
					case m.Kind == wire.Request || m.Kind == wire.Notification:
						j.Fail(e, "the client sent a %s before initialize", m.Summary())
						return
					}
				}
			},
		},
		{
			ID:    "lifecycle.client.initialize.params",
			Says:  "initialize has a string protocolVersion and the objects capabilities and clientInfo",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-client-initialize-request", "lifecycle-initialize-params-types"},
			Idle:  noInitialize,
			Hint:  "let the client send initialize",
			Judge: func(j *check.J) {
				ask, _, ok := transcript.FindInitialize(j.Entries())
				if !ok {
					return
				}
				isString := func(v gjson.Result) bool { return v.Type == gjson.String }
				for _, member := range []struct {
					name, want string
					isRight    func(gjson.Result) bool
				}{
					{"protocolVersion", "a string", isString},
					{"capabilities", "an object", gjson.Result.IsObject},
					{"clientInfo", "an object", gjson.Result.IsObject},
				} {
					if v := ask.Message.Params().Get(member.name); !member.isRight(v) {
						j.Fail(ask, "%s of initialize is %s, not %s", member.name, wire.TypeName(v), member.want)
					}
				}
				j.Saw()
			},
		},
		{
			ID:    "lifecycle.client.info",
			Says:  "the client's information has a name and a version that are strings",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"lifecycle-implementation-fields"},
			Idle:  "the client sent no information about itself",
			Hint:  "let the client open a session",
			Judge: func(j *check.J) {
				check.Each(j, identities(j, "clientInfo", spec.MetaClientInfo), func(e wire.Entry) bool {
					info := transcript.PeerInfo(e.Message, "clientInfo", spec.MetaClientInfo)
					if !info.IsObject() && e.Message.Method() == "initialize" {
						return false // lifecycle.client.initialize.params judges it
					}
					for _, member := range []string{"name", "version"} {
						if v := info.Get(member); v.Type != gjson.String {
							j.Fail(e, "%s of the client's information is %s, not a string", member, wire.TypeName(v))
						}
					}
					return true
				})
			},
		},
		{
			ID:    "lifecycle.client.capabilities.types",
			Says:  "the client's capabilities have the types of the schema",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"lifecycle-client-capabilities-types"},
			Idle:  "the client declared no capabilities",
			Hint:  "let the client open a session",
			Judge: func(j *check.J) {
				check.Each(j, identities(j, "capabilities", spec.MetaClientCapabilities), func(e wire.Entry) bool {
					declared := transcript.PeerInfo(e.Message, "capabilities", spec.MetaClientCapabilities)
					if !declared.IsObject() {
						return false // the checks of the params of initialize and of _meta judge it
					}
					broken := schema.For(j.Rev).Validate("ClientCapabilities", []byte(declared.Raw))
					if len(broken) > 0 {
						j.Fail(e, "the client's capabilities break the schema: %v", broken[0])
					}
					return true
				})
			},
		},
		{
			ID:    "lifecycle.client.initialized",
			Says:  "after initialize is answered the client requests only ping before notifications/initialized",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-initialized-notification"},
			Idle:  "the client sent nothing after a result of initialize with a version that it can know",
			Hint:  "let the client go on after the answer to initialize",
			Judge: func(j *check.J) {
				ask, answer, ok := transcript.FindInitialize(j.Entries())
				if !ok || answer.Message.Kind != wire.Result || transcript.NamesImpossibleVersion(answer.Message) {
					return
				}
				for _, e := range j.Sent() {
					isInitialized := e.Message.Method() == "notifications/initialized"
					switch m := e.Message; {
					case e.Index <= ask.Index:
					case isInitialized && e.Index < answer.Index:
						j.Fail(e, "notifications/initialized came before the answer to initialize")
						return
					case e.Index < answer.Index || m.Method() == "ping" || m.Method() == "notifications/cancelled":
					case isInitialized:
						j.Saw()
						return
					case m.Kind == wire.Request && mayHaveOvertaken(j, e):
					case m.Kind == wire.Request:
						j.Fail(e, "the client sent a %s before notifications/initialized", m.Summary())
						return
					}
				}
			},
		},
		{
			ID:    "lifecycle.client.initialize.awaited",
			Says:  "the client sends no requests but pings before the answer to initialize",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-client-waits-for-initialize-response"},
			Idle:  "the client sent nothing after an answer to initialize",
			Hint:  "let the client go on after the answer to initialize",
			// server/discover before initialize finds out the era of the server.
			Judge: func(j *check.J) {
				ask, answer, ok := transcript.FindInitialize(j.Entries())
				if !ok || answer.Message.Kind == wire.Invalid {
					return
				}
				for _, e := range j.Sent() {
					m := e.Message
					switch {
					case e.Index == ask.Index || e.Index > answer.Index || isSentBefore(e, ask):
					case e.Index < ask.Index && m.Method() == "server/discover":
					case m.Kind == wire.Request && m.Method() != "ping" &&
						!strings.HasPrefix(m.Method(), "notifications/"):
						j.Fail(e, "the client sent a %s before initialize was answered", m.Summary())
						return
					}
				}
				if transcript.HasContinued(j.Entries(), answer.Index) {
					j.Saw()
				}
			},
		},
		{
			ID:    "lifecycle.client.shutdown",
			Says:  "the client ends the session by closing the server's stdin, before any signal",
			Level: spec.Should,
			In:    spec.Every,
			On:    transport.OnStdio,
			Rules: []string{"lifecycle-stdio-close-stdin-first"},
			Idle:  "the client did not end the session",
			Hint:  "let the client end by itself when its work is done",
			// Of a session that we ended it is not known how the client would have ended it.
			Judge: func(j *check.J) {
				end := j.Ending()
				switch {
				case end == nil || end.Requested:
				case end.Graceful:
					j.Saw()
				default:
					j.FailSession("%s", end.Reason)
				}
			},
		},
	}
}

// identities returns the requests in which the client describes itself: by a member of
// the params of initialize, or since 2026-07-28 by a key in _meta of any request.
func identities(j *check.J, member, key string) []wire.Entry {
	return transcript.Filter(j.Sent(), func(e wire.Entry) bool {
		return e.Message.Kind == wire.Request && transcript.PeerInfo(e.Message, member, key).Exists()
	})
}

// isSentBefore reports whether the client certainly sent one message before another:
// over HTTP the messages of
// two connections may arrive in another order. View.Follows does not suffice: it assumes
// that an exchange that is recorded later began later.
func isSentBefore(e, later wire.Entry) bool {
	return e.Index < later.Index &&
		(e.HTTP == nil || e.HTTP.Conn == later.HTTP.Conn || later.At-e.At >= view.MaxTransit)
}

// mayHaveOvertaken reports whether a request may have been sent after a
// notifications/initialized that came later.
func mayHaveOvertaken(j *check.J, request wire.Entry) bool {
	return slices.ContainsFunc(j.Sent(), func(e wire.Entry) bool {
		return e.Message.Method() == "notifications/initialized" && e.Index > request.Index && !isSentBefore(request, e)
	})
}
