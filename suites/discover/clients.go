package discover

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// clientJudges are the judges of server/discover and of the probe for servers of
// both eras (basic/transports/stdio#backward-compatibility), since 2026-07-28.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "client.discover.params",
			Says:  "server/discover carries no parameters but _meta",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"discover-request-params"},
			Judge: func(j *check.J) {
				for _, e := range transcript.StatelessRequests(j) {
					if e.Message.Method() != "server/discover" {
						continue
					}
					e.Message.Params().ForEach(func(key, _ gjson.Result) bool {
						if key.String() != "_meta" {
							j.Fail(e, "server/discover carries %q", wire.Clip(key.String(), 40))
						}
						return true
					})
					j.Saw()
				}
			},
		},
		{
			ID:    "client.discover.version.listed",
			Says:  "after discovery the client's requests name a version that the server listed",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"discover-client-chooses-listed"},
			// discoverListed judges requests after a discovery that listed versions.
			Judge: func(j *check.J) {
				var list wire.Message
				for _, e := range j.Entries() {
					m := e.Message
					switch {
					case e.From == wire.Server && m.Kind == wire.Result && m.Result().Get("supportedVersions").IsArray():
						list = m
					case e.From == wire.Server || !transcript.IsStatelessRequest(m) || list.Kind != wire.Result:
					default:
						if v := transcript.MetaField(m, spec.MetaProtocolVersion).String(); !transcript.ListsVersion(list, v) {
							j.Fail(e, "%s names %q, which the server did not list: %s", m.Method(), wire.Clip(v, 40), wire.Clip(list.Result().Get("supportedVersions").Raw, 120))
							continue
						}
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "client.discover.result.stays",
			Says:  "a client whose discovery succeeded does not go on with initialize",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnStdio,
			Rules: []string{"stdio-probe-success-modern"},
			Judge: func(j *check.J) { stays(j, wire.Result) },
		},
		{
			ID:    "client.discover.error.stays",
			Says:  "a client that was refused with an error of the stateless era does not fall back to initialize",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnStdio,
			Rules: []string{"stdio-probe-modern-error", "versioning-modern-error-no-fallback"},
			Judge: func(j *check.J) { stays(j, wire.Error) },
		},
		{
			ID:    "client.stdio.response.none",
			Says:  "the client sends no responses, not even to a request that no server may send",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnStdio,
			Rules: []string{"stdio-client-no-responses"},
			// noResponses passes only where a server did send a request, and the client
			// went on after it.
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
				if asked >= 0 && transcript.WentOn(j.Entries(), asked) {
					j.Saw()
				}
			},
		},
	}
}

// stays judges what follows a probe that was answered with a result or an error
// of the stateless era. A result counts that lists the version that the client
// named: else there may be nothing else in common.
func stays(j *check.J, kind wire.Kind) {
	for _, ask := range transcript.StatelessRequests(j) {
		if ask.Message.Method() != "server/discover" {
			continue
		}
		answer, ok := transcript.AnswerTo(j.Entries(), ask)
		if !ok || answer.Message.Kind != kind || !transcript.IsStatelessAnswer(answer.Message) {
			continue
		}
		if kind == wire.Result && !transcript.ListsVersion(answer.Message, transcript.MetaField(ask.Message, spec.MetaProtocolVersion).String()) {
			continue
		}
		for _, e := range j.Sent() {
			if e.Index > answer.Index && e.Message.Method() == "initialize" {
				j.Fail(e, "the server answered server/discover with %s, and the client sent initialize", strings.TrimSpace(answer.Message.Summary()))
				return
			}
		}
		if kind == wire.Result && transcript.WentOn(j.Entries(), answer.Index) || j.Ending() != nil {
			j.Saw()
		}
	}
}
