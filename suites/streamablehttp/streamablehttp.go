// Package streamablehttp checks basic/transports/streamable-http. Its event streams
// are checked by package streams, and what RFC 9110 and browsers require by package
// semantics.
package streamablehttp

import (
	"cmp"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/streamablehttp/semantics"
	"github.com/mcpcheck/mcpcheck/suites/streamablehttp/streams"
)

// sessionHint is the hint of the checks of sessions.
const sessionHint = "open sessions with Mcp-Session-Id, and let clients end them by DELETE"

// Checks returns the probes and judges of servers.
func Checks() []check.Check {
	all := group{hint: expect.HintReply}
	fields := group{
		in: spec.Since(spec.V2025_03_26), section: sendingMessages, idle: noField, hint: expect.HintReply,
	}
	required := group{
		in: withSessions, rule: "streamable-http-session-required-400", idle: noneWithoutSession, hint: sessionHint,
	}
	ended := group{
		in: withSessions, rule: "streamable-http-session-terminated-404", idle: noSessionEnded, hint: sessionHint,
	}
	unknown := group{in: withSessions, section: sessionManagement, idle: noUnknownSessionID, hint: sessionHint}
	return slices.Concat(
		all.of(endpointProbes(), originProbes(), answerProbes()),
		fields.of(fieldProbes()),
		all.of(messageProbes(), versionProbes()),
		required.of(requiredSessionProbes()),
		semantics.Checks(),
		streams.Checks(),
		all.of(statelessProbes()),
		group{hint: sessionHint}.of(sessionProbes()),
		ended.of(endedSessionProbes()),
		unknown.of(unknownSessionProbes()),
		all.of(judges(), statelessJudges()),
	)
}

// A group is what checks of servers over HTTP have in common.
type group struct {
	in                        spec.Set
	rule, section, idle, hint string
}

// of returns the checks of lists, each with what it lacks of the group.
func (g group) of(lists ...[]check.Check) []check.Check {
	out := check.Servers(lists...)
	for i := range out {
		c := &out[i]
		c.On, c.In = transport.OnHTTP, cmp.Or(c.In, g.in)
		c.Spec, c.Idle, c.Hint = cmp.Or(c.Spec, g.section), cmp.Or(c.Idle, g.idle), cmp.Or(c.Hint, g.hint)
		if g.rule != "" && len(c.Rules) == 0 {
			c.Rules = []string{g.rule}
		}
	}
	return out
}

// answerGet is what helps where a GET was not answered as it should be.
const answerGet = "answer a GET with an event stream or status 405"
