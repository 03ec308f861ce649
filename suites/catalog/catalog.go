// Package catalog lists all checks.
package catalog

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/authorization"
	"github.com/mcpcheck/mcpcheck/suites/batching"
	"github.com/mcpcheck/mcpcheck/suites/caching"
	"github.com/mcpcheck/mcpcheck/suites/cancellation"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/completion"
	"github.com/mcpcheck/mcpcheck/suites/discover"
	"github.com/mcpcheck/mcpcheck/suites/elicitation"
	"github.com/mcpcheck/mcpcheck/suites/headers"
	"github.com/mcpcheck/mcpcheck/suites/httpsse"
	"github.com/mcpcheck/mcpcheck/suites/inputrequired"
	"github.com/mcpcheck/mcpcheck/suites/jsonrpc"
	"github.com/mcpcheck/mcpcheck/suites/lifecycle"
	"github.com/mcpcheck/mcpcheck/suites/logging"
	"github.com/mcpcheck/mcpcheck/suites/official"
	"github.com/mcpcheck/mcpcheck/suites/pagination"
	"github.com/mcpcheck/mcpcheck/suites/ping"
	"github.com/mcpcheck/mcpcheck/suites/progress"
	"github.com/mcpcheck/mcpcheck/suites/prompts"
	"github.com/mcpcheck/mcpcheck/suites/resources"
	"github.com/mcpcheck/mcpcheck/suites/roots"
	"github.com/mcpcheck/mcpcheck/suites/sampling"
	"github.com/mcpcheck/mcpcheck/suites/schema"
	"github.com/mcpcheck/mcpcheck/suites/stdio"
	"github.com/mcpcheck/mcpcheck/suites/streamablehttp"
	"github.com/mcpcheck/mcpcheck/suites/subscriptions"
	"github.com/mcpcheck/mcpcheck/suites/tasks"
	"github.com/mcpcheck/mcpcheck/suites/tools"
	"github.com/mcpcheck/mcpcheck/suites/versioning"
)

// Judges returns the judges of both roles that apply to any part of a session.
func Judges() []check.Check {
	return slices.DeleteFunc(Checks(), func(c check.Check) bool { return c.Judge == nil || c.Whole })
}

// Checks returns the checks of all areas.
func Checks() []check.Check {
	return slices.Concat(
		jsonrpc.Checks(),
		batching.Checks(),
		lifecycle.Checks(),
		versioning.Checks(),
		schema.Checks(),
		discover.Checks(),
		stdio.Checks(),
		ping.Checks(),
		pagination.Checks(),
		tools.Checks(),
		resources.Checks(),
		prompts.Checks(),
		completion.Checks(),
		logging.Checks(),
		roots.Checks(),
		sampling.Checks(),
		elicitation.Checks(),
		inputrequired.Checks(),
		progress.Checks(),
		cancellation.Checks(),
		tasks.Checks(),
		subscriptions.Checks(),
		streamablehttp.Checks(),
		headers.Checks(),
		httpsse.Checks(),
		authorization.Checks(),
		caching.Checks(),
		official.Checks(),
	)
}
