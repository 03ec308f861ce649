// Package batching checks basic#batching: JSON-RPC batches.
package batching

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	return append(check.Servers(probes(), judges()), check.Clients(clientCopies())...)
}
