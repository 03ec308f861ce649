// Package transport moves frames between this process and a peer, byte for
// byte: it neither repairs nor judges what it carries.
package transport

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A Kind is a transport of the specification.
type Kind string

// The transports. An in-process peer is spoken to as over stdio.
const (
	Stdio Kind = "stdio"
	HTTP  Kind = "http" // streamable HTTP
	SSE   Kind = "sse"  // HTTP+SSE of 2024-11-05
)

// A Set is a set of transports.
type Set uint8

// Sets of one transport, and of all.
const (
	OnStdio Set = 1 << iota
	OnHTTP
	OnSSE
	Any = OnStdio | OnHTTP | OnSSE
)

var kinds = []struct {
	kind Kind
	set  Set
}{{Stdio, OnStdio}, {HTTP, OnHTTP}, {SSE, OnSSE}}

// Has tells whether k is in the set.
func (s Set) Has(k Kind) bool {
	for _, e := range kinds {
		if e.kind == k {
			return s&e.set != 0
		}
	}
	return false
}

// Kinds returns the members of the set.
func (s Set) Kinds() []Kind {
	var out []Kind
	for _, e := range kinds {
		if s&e.set != 0 {
			out = append(out, e.kind)
		}
	}
	return out
}

// Revisions returns those that define the transport.
func (k Kind) Revisions() spec.Set {
	switch k {
	case HTTP:
		return spec.Since(spec.V2025_03_26)
	case SSE:
		return spec.Only(spec.V2024_11_05)
	}
	return spec.Every
}

// A Target is a server to be spoken to: one that is started, a Starter, or one
// that serves already, a Site.
type Target interface{ fmt.Stringer }

// A Starter is a server that can be started any number of times, each start
// giving a peer of its own, which is spoken to over stdio.
type Starter interface {
	Target
	// Start starts one instance. The context bounds the start alone.
	Start(ctx context.Context) (*Stream, error)
}

// A Site is a server that serves at a URL.
type Site struct {
	Endpoint *Endpoint
	Kind     Kind // HTTP or SSE
	// Ended waits at most so long for the server to end, where we started it, and
	// returns how it ended, "" if it runs; or nil.
	Ended  func(within time.Duration) string
	Stderr func() string // the last that the server wrote to its standard error, where we started it; or nil
}

func (s Site) String() string { return s.Endpoint.Shown() }

// KindOf returns the transport that a target is spoken to over.
func KindOf(t Target) Kind {
	if s, ok := t.(Site); ok {
		return s.Kind
	}
	return Stdio
}

// Quote joins arguments into a line that a POSIX shell reads back as them.
func Quote(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = quote(a)
	}
	return strings.Join(out, " ")
}

func quote(a string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,@%+", r)
	}
	if a != "" && strings.IndexFunc(a, func(r rune) bool { return !plain(r) }) < 0 {
		return a
	}
	return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
}
