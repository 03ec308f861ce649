package lifecycle

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges returns the judges of basic/lifecycle, and since 2026-07-28 of the identity
// and the capabilities in basic/index#_meta.
func judges() []check.Check {
	return slices.Concat(openingJudges(), capabilityJudges(), endingJudges())
}

// openingJudges returns the judges of the opening and of what the server says of
// itself.
func openingJudges() []check.Check {
	return []check.Check{
		{
			ID:    "lifecycle.opening.first",
			Says:  "the server sends nothing before its answer to initialize but pings, log messages and progress",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-initialize-first"},
			Idle:  "initialize was not answered with a result",
			Hint:  expect.HintReply,
			// Progress may be that of initialize itself. Before initialize is sent, nothing
			// is known of the session.
			Judge: func(j *check.J) {
				isInitialize := func(e wire.Entry) bool { return e.Message.Method() == "initialize" }
				if !slices.ContainsFunc(j.Received(), isInitialize) {
					return
				}
				for _, e := range j.Sent() {
					switch m := e.Message; m.Kind {
					case wire.Result:
						if r, ok := j.RequestOf(e); ok && isInitialize(r) {
							j.Saw()
							return
						}
					case wire.Request:
						if m.Method() != "ping" {
							j.Fail(e, "the request %s came before the answer to initialize", m.Method())
						}
					case wire.Notification:
						if m.Method() != "notifications/message" && m.Method() != "notifications/progress" {
							j.Fail(e, "the notification %s came before the answer to initialize", m.Method())
						}
					}
				}
			},
		},
		{
			ID:    "lifecycle.initialize.result",
			Says:  "the result of initialize has protocolVersion, capabilities and serverInfo, each of its type",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"lifecycle-server-initialize-response", "lifecycle-initialize-result-types"},
			Idle:  "initialize was not answered with a result",
			Hint:  expect.HintReply,
			// Other checks judge the members of capabilities and serverInfo.
			Judge: func(j *check.J) {
				check.Each(j, transcript.ResultsOf(j, "initialize"), func(e wire.Entry) bool {
					r := e.Message.Result()
					version, capabilities := r.Get("protocolVersion"), r.Get("capabilities")
					info, instructions := r.Get("serverInfo"), r.Get("instructions")
					switch {
					case !r.IsObject(): // jsonrpc.result.object judges it
						return false
					case version.Type != gjson.String:
						j.Fail(e, "protocolVersion is %s, not a string", wire.TypeName(version))
					case !capabilities.IsObject():
						j.Fail(e, "capabilities is %s, not an object", wire.TypeName(capabilities))
					case !info.IsObject():
						j.Fail(e, "serverInfo is %s, not an object", wire.TypeName(info))
					case instructions.Exists() && instructions.Type != gjson.String:
						j.Fail(e, "instructions is %s, not a string", wire.TypeName(instructions))
					}
					return true
				})
			},
		},
		{
			ID:    "lifecycle.server-info.fields",
			Says:  "serverInfo has a name and a version, and its other members are of their types",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"lifecycle-implementation-fields"},
			Idle:  "no result has a serverInfo",
			Hint:  "name the server: serverInfo in the result of initialize, or in the _meta of results",
			Judge: func(j *check.J) {
				results := transcript.ResultsOf(j, "initialize")
				if j.Facts.Stateless {
					results = transcript.Filter(j.Sent(), func(e wire.Entry) bool {
						return e.Message.Kind == wire.Result
					})
				}
				check.Each(j, results, func(e wire.Entry) bool {
					info := serverInfo(j, e)
					if !info.Exists() || !j.Facts.Stateless && !info.IsObject() {
						return false // lifecycle.initialize.result and server-info.present judge it
					}
					judgeDefinition(j, e, "serverInfo", "Implementation", info)
					return true
				})
			},
		},
		{
			ID:    "lifecycle.server-info.present",
			Says:  "every result carries the identity of the server in its _meta",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-server-info-meta", "discover-server-info"},
			Idle:  "the server sent no result",
			Hint:  expect.HintReply,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if e.Message.Kind != wire.Result || e.Message.FormatError() != nil ||
						!e.Message.Result().IsObject() {
						return false
					}
					if !serverInfo(j, e).Exists() {
						j.Fail(e, "the result has no %s in its _meta", spec.MetaServerInfo)
					}
					return true
				})
			},
		},
	}
}

// endingJudges returns the judges of the end of a session.
func endingJudges() []check.Check {
	return []check.Check{
		{
			ID:    "lifecycle.exit-on-eof",
			Says:  "the server exits when its standard input is closed, without any message before",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnStdio, // a server over HTTP goes on when a client leaves
			Rules: []string{"lifecycle-stdio-server-exit-on-eof"},
			Idle:  noShutdown,
			Hint:  "answer every request before standard input is closed",
			Judge: func(j *check.J) { judgeExit(j) },
		},
		{
			ID: "lifecycle.shutdown.exit",
			Says: "the server exits when its standard input is closed: clients wait for it, " +
				"and those that do not end it leave it running",
			Level: spec.Robust,
			In:    spec.Handshake,
			On:    transport.OnStdio, // a server over HTTP goes on when a client leaves
			Spec:  "basic/lifecycle#stdio",
			Idle:  noShutdown,
			Hint:  "answer every request before standard input is closed",
			// The clause has steps for the client alone.
			Judge: func(j *check.J) { judgeExit(j) },
		},
	}
}

// noShutdown is why the end of the server is not observed.
const noShutdown = "no session was ended by closing standard input while every request was answered"

// judgeExit judges that the server exits when its standard input is closed. While a
// request is unanswered the server may be at work, and no clause says how long that may
// take. The same holds while its own request waits for an answer, as one does that came
// when the input was closed. What a server would have done that was killed is not known.
func judgeExit(j *check.J) {
	end := j.Ending()
	if end == nil || !end.Requested || !allAnswered(j) || awaitsAnswer(j) {
		return
	}
	switch {
	case end.Graceful:
		j.Saw()
	case end.WaitedBeforeSignal > 0 && !end.Hurried:
		j.FailSession("the server still ran %.1f s after its stdin was closed, and a signal ended it",
			end.WaitedBeforeSignal.Seconds())
	}
}

// serverInfo returns the serverInfo of a result: of initialize, or since 2026-07-28 of
// any result.
func serverInfo(j *check.J, e wire.Entry) gjson.Result {
	if j.Facts.Stateless {
		return wire.Member(e.Message.Result().Get("_meta"), spec.MetaServerInfo)
	}
	return e.Message.Result().Get("serverInfo")
}

// judgeDefinition judges a value by a definition in the schema of the revision, except
// for icons, which schema.icons.shape judges.
func judgeDefinition(j *check.J, e wire.Entry, what, definition string, v gjson.Result) {
	for _, broken := range schema.For(j.Rev).Validate(definition, []byte(v.Raw)) {
		if !transcript.PointerMatches(broken.Pointer(), []string{"/icons/**"}) {
			j.Fail(e, "%s: %v", what, broken)
			return
		}
	}
}

// awaitsAnswer reports whether the judged side may still wait for the answer to a request
// of its own: none was sent, or nothing was sent after it.
func awaitsAnswer(j *check.J) bool {
	open := 0
	for _, e := range j.Sent() {
		if e.Message.Kind == wire.Request {
			open++
		}
	}
	received := j.Received()
	for _, e := range received {
		if e.Message.IsResponse() {
			open--
		}
	}
	return open > 0 || len(received) > 0 && received[len(received)-1].Message.IsResponse()
}

// allAnswered reports whether the judged side was sent requests and answered each of
// them.
func allAnswered(j *check.J) bool {
	open := map[string]int{}
	asked := false
	for _, e := range j.Received() {
		if m := e.Message; m.Kind == wire.Request && m.ID().IsValid() {
			asked = true
			open[m.ID().Key()]++
		}
	}
	for _, e := range j.Sent() {
		if m := e.Message; m.IsResponse() {
			delete(open, m.ID().Key())
		}
	}
	return asked && len(open) == 0
}
