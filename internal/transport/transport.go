// Package transport carries frames between mcpcheck and a peer, byte for byte. It
// neither repairs nor judges what it carries.
//
// A Target is a server under test. Over stdio it is a Starter: a Command, which is a
// child process, or an InProcess, which is a goroutine. Each start returns a Stream,
// whose lines are the messages. Over HTTP the target is an HTTPTarget: an Endpoint
// and the transport that it serves. Streamable and LegacySSE are the client ends of a
// session over the two transports of HTTP.
//
// One message over streamable HTTP takes this way: Streamable.Send records the
// message and the head of its POST as one frame, Endpoint.Do sends the request, and a
// goroutine of the session reads the HTTPResponse. It records a JSON body as one
// frame, or each event of a stream as one, and hands these frames to
// Streamable.Record. A caller may also send any HTTP request as a PendingExchange, or any
// bytes over a RawConn; both are recorded as frames without a message.
package transport

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/processes"
	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A Kind is a transport of the specification.
type Kind string

// The transports. An in-process peer counts as stdio.
const (
	Stdio Kind = "stdio"
	HTTP  Kind = "http" // streamable HTTP
	SSE   Kind = "sse"  // HTTP+SSE of 2024-11-05
)

// A Set is a set of transports.
type Set uint8

// The sets of one transport, and of all.
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

// Has reports whether k is in the set.
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

// Revisions returns the revisions that define the transport.
func (k Kind) Revisions() spec.Set {
	switch k {
	case HTTP:
		return spec.Since(spec.V2025_03_26)
	case SSE:
		return spec.Only(spec.V2024_11_05)
	}
	return spec.Every
}

// A Target is a server under test. A Command and an InProcess are Starters, which
// communicate over stdio; an HTTPTarget serves at a URL.
type Target interface {
	fmt.Stringer
	// Transport returns the transport of the target.
	Transport() Kind
	// Bearer returns the access token that every request to the target carries;
	// "" for none, and on stdio.
	Bearer() string
	// Process returns the process of an HTTPTarget that mcpcheck started; nil for
	// every other target.
	Process() ServerProcess
	// WithGuard returns the target with a guard that ends its child processes
	// should this process be killed. It calls start only for a target that has
	// child processes, and returns a nil guard for every other.
	WithGuard(start func() (*processes.Guard, error)) (Target, *processes.Guard, error)
}

// A Starter is a target that can be started any number of times. Each start gives
// a peer of its own, which communicates over stdio.
type Starter interface {
	Target
	// Start starts one instance. The context bounds the start alone.
	Start(ctx context.Context) (*Stream, error)
}

// stdio has the methods that are the same for every Starter.
type stdio struct{}

// Transport returns Stdio.
func (stdio) Transport() Kind { return Stdio }

// Bearer returns "": stdio has no access tokens.
func (stdio) Bearer() string { return "" }

// Process returns nil: each start has a process of its own.
func (stdio) Process() ServerProcess { return nil }

// HTTPTarget is a server that serves at a URL.
type HTTPTarget struct {
	Endpoint *Endpoint
	Kind     Kind          // HTTP or SSE
	Server   ServerProcess // nil unless mcpcheck started the server
}

// A ServerProcess is a server that mcpcheck started and that serves at a URL.
type ServerProcess interface {
	// Stderr returns the end of what the server wrote to its standard error.
	Stderr() string
	// WaitForExit waits at most the given time for a server that no longer accepts
	// connections to end. It returns how the server ended, "" while it runs.
	WaitForExit(within time.Duration) string
	// Restart ends the server, if it runs, and starts it again.
	Restart(ctx context.Context) error
}

func (s HTTPTarget) String() string { return s.Endpoint.Redacted() }

// Transport returns the kind.
func (s HTTPTarget) Transport() Kind { return s.Kind }

// Bearer returns the access token of the endpoint.
func (s HTTPTarget) Bearer() string { return s.Endpoint.Bearer() }

// Process returns the server.
func (s HTTPTarget) Process() ServerProcess { return s.Server }

// WithGuard returns the target unchanged: it has no child processes.
func (s HTTPTarget) WithGuard(func() (*processes.Guard, error)) (Target, *processes.Guard, error) {
	return s, nil, nil
}

// ShellQuote returns a command line that a POSIX shell splits into the arguments.
func ShellQuote(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = quote(a)
	}
	return strings.Join(out, " ")
}

func quote(a string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-./:=,@%+", r)
	}
	if a != "" && strings.IndexFunc(a, func(r rune) bool { return !plain(r) }) < 0 {
		return a
	}
	return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
}

// waitFor waits until done is closed, at most the given time, and reports whether
// it was closed.
func waitFor(done <-chan struct{}, within time.Duration) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-done:
		return true
	case <-limit.C:
		return false
	}
}
