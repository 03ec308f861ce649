// Package scenario lists the scripted servers that a client under test is run against.
package scenario

import (
	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A Scenario is a scripted server that each client under test is run against once.
type Scenario struct {
	Name   string
	Says   string
	Serves spec.Set // revisions whose checks it may give evidence
	On     transport.Set
	// Plain is the revision of an ordinary server, "" for a server with a deviation: what
	// a client does with an ordinary server shows whether it speaks the revision.
	Plain  spec.Revision
	Server script.Server
}

// Scenarios returns the scenarios: an ordinary server of each revision, the newest
// handshake revision first since most clients speak it, then servers with a deviation.
func Scenarios() []Scenario {
	var out []Scenario
	handshake := spec.Handshake.Revisions()
	for i := len(handshake) - 1; i >= 0; i-- {
		out = append(out, plain(handshake[i]))
	}
	for _, rev := range spec.Stateless.Revisions() {
		out = append(out, plain(rev))
	}
	return append(out,
		Scenario{
			Name:   "older",
			Says:   "a small server that speaks only the oldest revision",
			Serves: spec.Handshake,
			On:     transport.Any,
			Server: script.OldestRevisionServer(),
		},
		Scenario{
			Name:   "newer",
			Says:   "a server that offers a version that does not exist",
			Serves: spec.Handshake,
			On:     transport.Any,
			Server: script.UnknownVersionServer(),
		},
		Scenario{
			Name:   "modern-only",
			Says:   "a server that refuses initialize and names the versions it speaks",
			Serves: spec.Every,
			On:     transport.OnStdio | transport.OnHTTP,
			Server: script.StatelessOnlyServer(),
		},
		Scenario{
			Name:   "foreign",
			Says:   "a server without initialize that speaks only a version that does not exist",
			Serves: spec.Stateless,
			On:     transport.OnStdio | transport.OnHTTP,
			Server: script.UnknownStatelessVersionServer(),
		},
		Scenario{
			Name:   "bare",
			Says:   "a server without any capability",
			Serves: spec.Every,
			On:     transport.Any,
			Server: script.ServerWithoutCapabilities(),
		},
		Scenario{
			Name:   "trespasser",
			Says:   "a server that sends a request in a revision that forbids requests of the server",
			Serves: spec.Stateless,
			On:     transport.OnStdio,
			Server: script.RequestingStatelessServer(),
		},
	)
}

// plain returns the scenario of an ordinary server of a revision.
func plain(rev spec.Revision) Scenario {
	return Scenario{
		Name:   "plain " + string(rev),
		Says:   "an ordinary server of " + string(rev),
		Serves: spec.Only(rev),
		On:     transport.Any,
		Plain:  rev,
		Server: script.FullServer(rev),
	}
}
