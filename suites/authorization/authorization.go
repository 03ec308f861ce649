// Package authorization checks basic/authorization.
package authorization

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks returns the probes of servers.
func Checks() []check.Check {
	return check.Servers(slices.Concat(
		tokenProbes(), metadataProbes(), challengeProbes(), scopeProbes(), oauthProbes(),
		userProbes(), dataProbes(), upstreamProbes(),
	))
}

// The revisions that have authorization; that bind a token to its server; that have
// challenges for scope (basic/authorization of each).
var (
	authorizing = spec.Since(spec.V2025_03_26)
	binding     = spec.Since(spec.V2025_06_18)
	scoping     = spec.Since(spec.V2025_11_25)
)

// onWeb are the transports that have authorization.
const onWeb = transport.OnHTTP | transport.OnSSE
