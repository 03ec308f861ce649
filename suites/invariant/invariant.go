// Package invariant holds the judges of what must hold in every session,
// whoever drives it: they serve probes, client scenarios, recorded traces and,
// unchanged, the fuzz oracles.
package invariant

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks returns the judges of both roles.
func Checks() []check.Check {
	servers := slices.Concat(
		messages(),
		batching(),
		directions(),
		meta(),
		icons(),
		schemasSent(),
		content(),
		annotations(),
		lifecycle(),
		versioning(),
		discover(),
		ping(),
		pagination(),
		tools(),
		toolSchemas(),
		toolResults(),
		headers(),
		resources(),
		prompts(),
		completion(),
		failed(),
		logging(),
		progress(),
		cancellation(),
		roots(),
		sampling(),
		elicitation(),
		mrtr(),
		tasks(),
		subscriptions(),
		caching(),
		stdio(),
		accepted(),
		httpStreams(),
		statelessHTTP(),
		httpSSE(),
	)
	return defaults(append(servers, clients(servers)...))
}

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
