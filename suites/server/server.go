// Package server holds the probes of servers: a file per page of the
// specification, in the order of its contents.
package server

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks returns the probes of all pages.
func Checks() []check.Check {
	return defaults(slices.Concat(
		messages(),
		batching(),
		lifecycle(),
		versioning(),
		meta(),
		discover(),
		stdio(),
		httpEndpoint(),
		httpOrigins(),
		httpAnswers(),
		httpVersions(),
		ping(),
		pagination(),
		toolsListing(),
		toolsCalling(),
		dialects(),
		resources(),
		prompts(),
		completion(),
		logging(),
		// Before anything is cancelled: what asks is known by what is open.
		roots(),
		sampling(),
		elicitation(),
		mrtr(),
		progress(),
		cancellation(),
		tasks(),
		subscriptions(),
		httpStreams(),
		headers(),
		statelessHTTP(),
		httpSSE(),
		authorization(),
		httpSessions(), // by what the tools were seen to do
		official(),
	))
}

// defaults fills what is the same in nearly every probe: it is of servers, and
// holds on every transport.
func defaults(checks []check.Check) []check.Check {
	for i := range checks {
		if checks[i].Of == "" {
			checks[i].Of = wire.Server
		}
		if checks[i].On == 0 {
			checks[i].On = transport.Any
		}
	}
	return checks
}
