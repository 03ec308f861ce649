package lifecycle

import (
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// clientOpeningJudges are the judges of basic/lifecycle, and of what took its place in
// basic/index since 2026-07-28.
func clientOpeningJudges() []check.Check {
	return []check.Check{
		{
			ID:    "client.lifecycle.initialize.first",
			Says:  "the client's first message is initialize, but for pings and the probe of a client of both eras",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-initialize-first"},
			// initializeFirst tolerates server/discover, with which a client of both eras
			// is told to open on stdio (basic/transports/stdio#backward-compatibility
			// since 2026-07-28), and responses, which answer a ping of the server.
			Judge: func(j *check.J) {
				ask, _, _ := transcript.FindOpening(j.Entries())
				for _, e := range j.Sent() {
					switch m := e.Message; {
					case m.Method() == "initialize":
						j.Saw()
						return
					case ask.Message.Kind == wire.Request && !before(e, ask): // it may have overtaken initialize
					case m.Method() == "ping" || m.Method() == "server/discover" || m.IsResponse():
					case m.Kind == wire.Request || m.Kind == wire.Notification:
						j.Fail(e, "the client sent a %s before initialize", m.Summary())
						return
					}
				}
			},
		},
		{
			ID:    "client.lifecycle.initialize.params",
			Says:  "initialize carries a protocolVersion that is a string, and capabilities and clientInfo that are objects",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-client-initialize-request", "lifecycle-initialize-params-types"},
			Judge: func(j *check.J) {
				ask, _, ok := transcript.FindOpening(j.Entries())
				if !ok {
					return
				}
				params := ask.Message.Params()
				for _, member := range []struct {
					name, want string
					good       func(gjson.Result) bool
				}{
					{"protocolVersion", "a string", func(v gjson.Result) bool { return v.Type == gjson.String }},
					{"capabilities", "an object", gjson.Result.IsObject},
					{"clientInfo", "an object", gjson.Result.IsObject},
				} {
					if v := params.Get(member.name); !member.good(v) {
						j.Fail(ask, "%s of initialize is %s, not %s", member.name, wire.TypeName(v), member.want)
					}
				}
				j.Saw()
			},
		},
		{
			ID:    "client.lifecycle.info",
			Says:  "the client's information has a name and a version that are strings",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"lifecycle-implementation-fields"},
			Judge: func(j *check.J) {
				for _, e := range identities(j, "clientInfo", spec.MetaClientInfo) {
					info := transcript.Identity(e.Message, "clientInfo", spec.MetaClientInfo)
					if !info.IsObject() && e.Message.Method() == "initialize" {
						continue // judged with the params of initialize
					}
					for _, member := range []string{"name", "version"} {
						if v := info.Get(member); v.Type != gjson.String {
							j.Fail(e, "%s of the client's information is %s, not a string", member, wire.TypeName(v))
						}
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "client.lifecycle.capabilities.types",
			Says:  "the client's capabilities have the types of the schema",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"lifecycle-client-capabilities-types"},
			Judge: func(j *check.J) {
				for _, e := range identities(j, "capabilities", spec.MetaClientCapabilities) {
					declared := transcript.Identity(e.Message, "capabilities", spec.MetaClientCapabilities)
					if !declared.IsObject() {
						continue // judged with the params of initialize, or the metadata
					}
					if wrong := schema.For(j.Rev).Validate("ClientCapabilities", []byte(declared.Raw)); len(wrong) > 0 {
						j.Fail(e, "the client's capabilities break the schema: %v", wrong[0])
						continue
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "client.lifecycle.initialized",
			Says:  "after the answer to initialize the client sends notifications/initialized before any request but pings",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-initialized-notification"},
			Judge: func(j *check.J) {
				ask, answer, ok := transcript.FindOpening(j.Entries())
				if !ok || answer.Message.Kind != wire.Result || transcript.NamesImpossibleVersion(answer.Message) {
					return
				}
				for _, e := range j.Sent() {
					switch m := e.Message; {
					case e.Index <= ask.Index:
					case m.Method() == "notifications/initialized" && e.Index < answer.Index:
						j.Fail(e, "notifications/initialized came before the answer to initialize")
						return
					case e.Index < answer.Index || m.Method() == "ping" || m.Method() == "notifications/cancelled":
					case m.Method() == "notifications/initialized":
						j.Saw()
						return
					case m.Kind == wire.Request && overtook(j, e):
					case m.Kind == wire.Request:
						j.Fail(e, "the client sent a %s before notifications/initialized", m.Summary())
						return
					}
				}
			},
		},
		{
			ID:    "client.lifecycle.waits",
			Says:  "before the answer to initialize the client sends no requests but pings",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-client-waits-for-initialize-response"},
			Judge: func(j *check.J) {
				ask, answer, ok := transcript.FindOpening(j.Entries())
				if !ok || answer.Message.Kind == wire.Invalid {
					return
				}
				for _, e := range j.Sent() {
					m := e.Message
					switch {
					case e.Index == ask.Index || e.Index > answer.Index || before(e, ask):
					case e.Index < ask.Index && m.Method() == "server/discover": // the probe for the other era
					case m.Kind == wire.Request && m.Method() != "ping" && !strings.HasPrefix(m.Method(), "notifications/"):
						j.Fail(e, "the client sent a %s before initialize was answered", m.Summary())
						return
					}
				}
				if transcript.WentOn(j.Entries(), answer.Index) {
					j.Saw()
				}
			},
		},
		{
			ID:    "client.lifecycle.shutdown",
			Says:  "the client ends the session by closing the server's stdin, before any signal",
			Level: spec.Should,
			In:    spec.Every,
			On:    transport.OnStdio,
			Rules: []string{"lifecycle-stdio-close-stdin-first"},
			// shutdown leaves out sessions that we ended.
			Judge: func(j *check.J) {
				end := j.Ending()
				switch {
				case end == nil || end.Asked:
				case end.Graceful:
					j.Saw()
				default:
					j.FailSession("%s", end.What)
				}
			},
		},
	}
}

// identities returns what the client says of itself at a member of initialize,
// or since 2026-07-28 under a key of every request's metadata, where present.
func identities(j *check.J, member, key string) []wire.Entry {
	var out []wire.Entry
	for _, e := range j.Sent() {
		if e.Message.Kind == wire.Request && transcript.Identity(e.Message, member, key).Exists() {
			out = append(out, e)
		}
	}
	return out
}

// underWay is how long a message may be under way while another comes on a second
// connection.
const underWay = time.Second

// before tells whether the client certainly sent one message before another: over
// HTTP what came on two connections may have come in another order.
func before(e, later wire.Entry) bool {
	return e.Index < later.Index && (e.HTTP == nil || e.HTTP.Conn == later.HTTP.Conn || later.At-e.At >= underWay)
}

// overtook tells whether notifications/initialized came behind a request that it
// may have been sent before.
func overtook(j *check.J, request wire.Entry) bool {
	return slices.ContainsFunc(j.Sent(), func(e wire.Entry) bool {
		return e.Message.Method() == "notifications/initialized" && e.Index > request.Index && !before(request, e)
	})
}
