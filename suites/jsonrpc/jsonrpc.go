// Package jsonrpc checks basic (messages): requests, responses, notifications and
// errors of JSON-RPC.
package jsonrpc

import "github.com/mcpcheck/mcpcheck/suites/check"

// Checks returns the probes and judges of servers, and the judges of clients.
func Checks() []check.Check {
	servers := check.Servers(probes(), messageJudges(), directionJudges(), failureJudges())
	clients := check.Clients(check.WholeSessions(clientJudges()), clientCopies())
	return append(servers, clients...)
}
