package discover

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// clientJudges returns the judges of clients of server/discover, which clients of both
// eras also send to find out the era of a server
// (basic/transports/stdio#backward-compatibility), since 2026-07-28.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "discover.client.params",
			Says:  "a server/discover request of the client has no parameters but _meta",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"discover-request-params"},
			Idle:  "the client did not send server/discover",
			Hint:  "let the client send server/discover, and a request after it",
			Judge: func(j *check.J) {
				check.Each(j, discoveries(j), func(e wire.Entry) bool {
					if name := check.MemberBesideMeta(e.Message.Params()); name != "" {
						j.Fail(e, "server/discover has the parameter %q", name)
					}
					return true
				})
			},
		},
		{
			ID:    "discover.client.version.listed",
			Says:  "after server/discover the client names in its requests a version that the server listed",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"discover-client-chooses-listed"},
			Idle:  "the client sent no request after a server/discover that listed versions",
			Hint:  "let the client send server/discover, and a request after it",
			Judge: func(j *check.J) {
				var list wire.Message // the last answer that lists versions
				for _, e := range j.Entries() {
					m := e.Message
					switch {
					case e.From == wire.Server:
						if m.Kind == wire.Result && m.Result().Get("supportedVersions").IsArray() {
							list = m
						}
						continue
					case !transcript.IsStatelessRequest(m) || list.Kind != wire.Result:
						continue
					}
					version := transcript.MetaMember(m, spec.MetaProtocolVersion).String()
					if !transcript.ListsVersion(list, version) {
						listed := list.Result().Get("supportedVersions").Raw
						j.Fail(e, "%s names the version %q, which the server did not list: %s",
							m.Method(), wire.Clip(version, 40), wire.Clip(listed, 120))
						continue
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "discover.client.result.no-initialize",
			Says:  "the client sends no initialize after a server/discover that succeeded",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnStdio,
			Rules: []string{"stdio-probe-success-modern"},
			Idle:  "no server/discover of the client was answered with a result that lists its version",
			Hint:  "let the client send server/discover, and go on after the result",
			Judge: func(j *check.J) { judgeNoInitialize(j, wire.Result) },
		},
		{
			ID:    "discover.client.error.no-initialize",
			Says:  "the client does not fall back to initialize after an error of the stateless era",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnStdio,
			Rules: []string{"stdio-probe-modern-error", "versioning-modern-error-no-fallback"},
			Idle:  "no server/discover of the client was answered with an error of the stateless era",
			Hint:  "let the client send server/discover",
			Judge: func(j *check.J) { judgeNoInitialize(j, wire.Error) },
		},
		{
			ID:    "discover.client.response.none",
			Says:  "the client sends no responses, not even to a request that no server may send",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnStdio,
			Rules: []string{"stdio-client-no-responses"},
			Idle:  "the server sent no request that the client could answer",
			Hint:  "let the client stay connected and send a request after one of the server has come",
			// A client that sends nothing after the request of the server may have left.
			Judge: func(j *check.J) {
				asked := -1
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						switch {
						case e.From == wire.Server && m.Kind == wire.Request:
							asked = e.Index
						case e.From == wire.Client && m.IsResponse():
							j.Fail(e, "the client sent a %s", m.Summary())
						}
					}
				}
				if asked >= 0 && transcript.HasContinued(j.Entries(), asked) {
					j.Saw()
				}
			},
		},
	}
}

// discoveries returns the server/discover requests of the client.
func discoveries(j *check.J) []wire.Entry {
	return transcript.Filter(transcript.StatelessRequests(j), func(e wire.Entry) bool {
		return e.Message.Method() == "server/discover"
	})
}

// judgeNoInitialize judges that the client sends no initialize after a server/discover
// that was answered with a result or an error of the stateless era. A result counts
// if it lists the version that the client named: otherwise the two may have only a
// handshake revision in common.
func judgeNoInitialize(j *check.J, kind wire.Kind) {
	for _, request := range discoveries(j) {
		answer, ok := transcript.AnswerTo(j.Entries(), request)
		if !ok || answer.Message.Kind != kind || !transcript.IsStatelessAnswer(answer.Message) {
			continue
		}
		version := transcript.MetaMember(request.Message, spec.MetaProtocolVersion).String()
		if kind == wire.Result && !transcript.ListsVersion(answer.Message, version) {
			continue
		}
		for _, e := range j.Sent() {
			if e.Index > answer.Index && e.Message.Method() == "initialize" {
				j.Fail(e, "the server answered server/discover with %s, and the client sent initialize",
					strings.TrimSpace(answer.Message.Summary()))
				return
			}
		}
		if kind == wire.Result && transcript.HasContinued(j.Entries(), answer.Index) || j.Ending() != nil {
			j.Saw()
		}
	}
}
