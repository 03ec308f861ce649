// Package streams checks the event streams of basic/transports/streamable-http: how
// they begin and end, which of them carries what, and how they are resumed.
package streams

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks returns the probes and judges of servers.
func Checks() []check.Check {
	judged := slices.Concat(judges(), eventJudges(), routeJudges())
	for i := range judged {
		judged[i].On = transport.OnHTTP
	}
	return check.Servers(probes(), sameIDProbes(), judged)
}

// handshake returns the revisions of streamable HTTP with a stream of GET and with
// event ids.
func handshake() spec.Set { return spec.Since(spec.V2025_03_26) & spec.Handshake }

// polling returns the revisions in which a server may close the connection of a
// stream that is not finished (basic/transports#sending-messages-to-the-server).
func polling() spec.Set { return spec.Only(spec.V2025_11_25) }

// beforePolling returns the revisions of streamable HTTP before polling.
func beforePolling() spec.Set { return spec.Between(spec.V2025_03_26, spec.V2025_06_18) }
