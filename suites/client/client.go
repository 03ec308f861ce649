// Package client holds the scenarios that are played to clients, and the judges
// of what a client did in them: a file per page of the specification. Rules
// that bind both ends have their judges in package invariant.
package client

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks returns the judges of all pages.
func Checks() []check.Check {
	return defaults(slices.Concat(
		messages(),
		lifecycle(),
		capabilities(),
		versioning(),
		meta(),
		discover(),
		ping(),
		pagination(),
		tools(),
	))
}

// defaults fills what is the same in nearly every judge: it is of clients, and
// holds on every transport.
func defaults(checks []check.Check) []check.Check {
	for i := range checks {
		checks[i].Of = wire.Client
		if checks[i].On == 0 {
			checks[i].On = transport.Any
		}
	}
	return checks
}
