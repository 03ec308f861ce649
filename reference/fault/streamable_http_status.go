package fault

import (
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// refusalStatus are faults in the status by which a stateless request is refused.
func refusalStatus() []Fault {
	status := func(name, does, caughtBy string, code, status int) Fault {
		return newFault(name, does, caughtBy, onHTTPError(code, anyPosted, withStatus(status)))
	}
	return []Fault{
		status("incomplete-meta-is-200", "refuses a request without client capabilities with status 200",
			"streamable-http.status.meta", spec.InvalidParams, http.StatusOK),
		status("incomplete-meta-is-422", "refuses a request without client capabilities with status 422",
			"streamable-http.status.meta", spec.InvalidParams, http.StatusUnprocessableEntity),
		status("lacking-capability-is-200", "refuses a request that lacks a client capability with status 200",
			"streamable-http.status.capabilities", spec.MissingClientCapability, http.StatusOK),
		status("lacking-capability-is-404", "refuses a request that lacks a client capability with status 404",
			"streamable-http.status.capabilities", spec.MissingClientCapability, http.StatusNotFound),
		status("unsupported-version-is-200", "refuses an unknown version with status 200",
			"streamable-http.status.version", spec.UnsupportedVersion, http.StatusOK),
		{
			Name: "unsupported-version-on-a-stream", Does: "refuses an unknown version on an event stream",
			CaughtBy: []string{"streamable-http.status.version"},
			Apply: onHTTPError(spec.UnsupportedVersion, anyPosted, func(a *httpAnswer) {
				a.set(http.StatusOK, "text/event-stream", fmt.Appendf(nil, "data: %s\n\n", a.body.Bytes()))
				a.header.Set("X-Accel-Buffering", "no")
			}),
		},
	}
}

// anyPosted matches all POSTs.
func anyPosted(*http.Request, wire.Message) bool { return true }
