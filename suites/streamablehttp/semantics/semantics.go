// Package semantics checks what RFC 9110 and web browsers require of a server of
// streamable HTTP, beside what basic/transports/streamable-http states.
package semantics

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Checks returns the probes and judges of servers.
func Checks() []check.Check { return check.Servers(probes(), browserProbes(), judges()) }

// streamable returns the revisions of streamable HTTP.
func streamable() spec.Set { return spec.Since(spec.V2025_03_26) }

// withSessions returns the revisions of streamable HTTP that have sessions.
func withSessions() spec.Set { return streamable() & spec.Handshake }

const sendingMessages = "basic/transports#sending-messages-to-the-server"
