// Package fault holds seeded faults: each makes the reference server, or the
// reference client, deviate in one way, and names the check that must catch it.
//
// A fault decorates a seam of the server's or client's options, mostly by one of
// the helpers in the files edit*.go. The faults of an area of the specification
// stand in the file AREA.go, or where they are many in files AREA_SUBJECT.go.
package fault

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// A Fault is one deviation of the reference server.
type Fault struct {
	Name string // kebab-case
	Does string // one line: how the server deviates
	// In are the revisions in which it deviates. Empty stands for the revisions
	// of the checks that catch it, as far as the transport Over has them.
	In spec.Set
	// Breaks are the ledger rows that it breaks. Empty stands for the rows of
	// the checks that catch it; such a fault proves these checks and no row.
	Breaks []string
	// CaughtBy is the check that must catch it, or the two checks of a rule
	// whose level changed between revisions.
	CaughtBy []string
	// Also are other checks that must fail for the same deviation, each with its
	// reason; at most three.
	Also map[string]string
	Fuzz bool // the fuzzer must find it, in every revision
	// Profile names the fixtures that it needs, "" for none: "official" has the
	// server offer the public conformance contract.
	Profile string
	// Over is the transport that shows it, where stdio does not; "" for stdio.
	Over transport.Kind
	// Protected: the server that deviates requires an access token.
	Protected bool
	// Apply builds the deviation into the options.
	Apply apply
}

// All returns the faults of the server, area by area.
func All() []Fault {
	var all []Fault
	for _, a := range areas() {
		all = append(all, a.server...)
	}
	return append(all, fuzzFaults()...)
}

// Clients returns the faults of the client, area by area.
func Clients() []ClientFault {
	var all []ClientFault
	for _, a := range areas() {
		all = append(all, a.client...)
	}
	return all
}

// An area holds the faults of one area of the specification: those that a check
// of that area catches.
type area struct {
	name   string
	server []Fault
	client []ClientFault
}

func areas() []area {
	return []area{
		{"jsonrpc", jsonrpcFaults(), jsonrpcClientFaults()},
		{"batching", batchingFaults(), nil},
		{"lifecycle", lifecycleFaults(), lifecycleClientFaults()},
		{"versioning", versioningFaults(), versioningClientFaults()},
		{"discover", discoverFaults(), discoverClientFaults()},
		{"ping", pingFaults(), pingClientFaults()},
		{"pagination", paginationFaults(), paginationClientFaults()},
		{"tools", toolsFaults(), toolsClientFaults()},
		{"stdio", stdioFaults(), stdioClientFaults()},
		{"schema", schemaFaults(), schemaClientFaults()},
		{"resources", resourcesFaults(), nil},
		{"prompts", promptsFaults(), nil},
		{"completion", completionFaults(), nil},
		{"logging", loggingFaults(), nil},
		{"progress", progressFaults(), nil},
		{"cancellation", cancellationFaults(), nil},
		{"roots", rootsFaults(), nil},
		{"sampling", samplingFaults(), nil},
		{"elicitation", elicitationFaults(), nil},
		{"input-required", inputRequiredFaults(), nil},
		{"tasks", tasksFaults(), nil},
		{"subscriptions", subscriptionsFaults(), nil},
		{"caching", cachingFaults(), nil},
		{"headers", headersFaults(), nil},
		{"streamable-http", streamableHTTPFaults(), nil},
		{"http-sse", httpSSEFaults(), nil},
		{"authorization", authorizationFaults(), nil},
		{"official", officialFaults(), nil},
	}
}

// newFault returns a fault with these fields alone.
func newFault(name, does, caughtBy string, apply apply) Fault {
	return Fault{Name: name, Does: does, CaughtBy: []string{caughtBy}, Apply: apply}
}

// overHTTP shows the faults over streamable HTTP.
func overHTTP(faults ...Fault) []Fault {
	for i := range faults {
		faults[i].Over = transport.HTTP
	}
	return faults
}

// protected shows the faults over streamable HTTP on a server that requires an
// access token.
func protected(faults ...Fault) []Fault {
	for i := range faults {
		faults[i].Protected = true
	}
	return overHTTP(faults...)
}

// Lookup returns the fault of the server with that name.
func Lookup(name string) (Fault, error) {
	for _, f := range All() {
		if f.Name == name {
			return f, nil
		}
	}
	return Fault{}, fmt.Errorf("no fault is named %q", name)
}

// Revisions returns the revisions in which the fault deviates. stated returns
// the revisions of a check.
func (f Fault) Revisions(stated func(check string) spec.Set) spec.Set {
	if f.Fuzz {
		return spec.Every
	}
	return revisions(f.In, f.CaughtBy, stated) & f.Over.Revisions()
}

// revisions returns in or, where it is empty, the revisions of the checks.
func revisions(in spec.Set, checks []string, stated func(check string) spec.Set) spec.Set {
	if in == 0 {
		for _, id := range checks {
			in |= stated(id)
		}
	}
	return in
}

// Options returns the options with the fault built in.
func (f Fault) Options(o server.Options) server.Options {
	if f.Protected && o.HTTP.Authorization == nil {
		o.HTTP.Authorization = &server.AuthorizationOptions{}
	}
	o.Official = o.Official || f.Profile == "official"
	f.Apply(&o)
	return o
}
