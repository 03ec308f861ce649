package scenario

import (
	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A Scenario is a server that every client under test is run against once.
type Scenario struct {
	Name   string
	Says   string
	Serves spec.Set // revisions that it may give subjects to
	On     transport.Set
	// Plain is the revision of an ordinary server, "" for those that are out
	// of the ordinary: what a client does with it tells whether it speaks that.
	Plain  spec.Revision
	Server script.Server
}

// Scenarios returns the scenarios: a plain server of each revision, newest
// handshake revision first since every client is likely to speak it, then
// those that are out of the ordinary.
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
		Scenario{"older", "a small server that knows only the oldest revision", spec.Handshake, transport.Any, "", script.Older()},
		Scenario{"newer", "a server that offers a version which cannot exist yet", spec.Handshake, transport.Any, "", script.Newer()},
		Scenario{"modern-only", "a server that refuses initialize and names the versions it speaks", spec.Every, transport.OnStdio | transport.OnHTTP, "", script.ModernOnly()},
		Scenario{"foreign", "a server without initialize that speaks only a version which cannot exist yet", spec.Stateless, transport.OnStdio | transport.OnHTTP, "", script.Foreign()},
		Scenario{"bare", "a server without any capability", spec.Every, transport.Any, "", script.Bare()},
		Scenario{"trespasser", "a server that sends a request in a revision where none may", spec.Stateless, transport.OnStdio, "", script.Trespasser()},
	)
}

func plain(rev spec.Revision) Scenario {
	return Scenario{"plain " + string(rev), "an ordinary server of " + string(rev), spec.Only(rev), transport.Any, rev, script.Plain(rev)}
}
