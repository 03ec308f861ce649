// Package fault holds seeded faults: each makes the honest server deviate in
// one way and says what it breaks and which check must catch it. A check is
// proven only by a fault, or a violation file, that it alone was written for.
//
// A fault is a decorator at a seam of the server's Options, most of them one
// call of a helper in edit.go. Faults of an area stand in the file of that
// area and are joined in All.
package fault

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// A Fault is one deviation of the honest server.
type Fault struct {
	Name string // kebab-case
	Does string // one line: how the server deviates
	// In are the revisions in which it deviates. Empty stands for the revisions
	// of the checks that catch it, as far as the transport Over has them.
	In spec.Set
	// Breaks are the ledger rows that it breaks. Empty stands for the rows of
	// the checks that catch it; such a fault proves these checks and no row.
	Breaks   []string
	CaughtBy []string          // the one check that must catch it, or the two checks of a level change
	Also     map[string]string // other checks that must fail for the same deviation, each with its reason; at most three
	Fuzz     bool              // the fuzzer must find it, in every revision
	// Profile names the fixtures that it is about, "" for none: "official" has
	// the server offer the public conformance contract.
	Profile string
	// Over is the transport that shows it, where stdio does not; "" for stdio.
	Over transport.Kind
	// Protected: the server that deviates serves only who brings an access token.
	Protected bool
	// Apply builds the deviation into the options.
	Apply func(o *server.Options)
}

// All returns the faults, area by area.
func All() []Fault {
	return slices.Concat(
		jsonrpc(),
		batching(),
		lifecycle(),
		versioning(),
		discover(),
		ping(),
		pagination(),
		toolDefinitions(),
		toolLists(),
		toolCalls(),
		toolArguments(),
		toolResults(),
		stdio(),
		fuzz(),
		schemaArea(),
		resources(),
		prompts(),
		completion(),
		logging(),
		progress(),
		cancellation(),
		roots(),
		sampling(),
		elicitation(),
		mrtr(),
		tasks(),
		subscriptions(),
		watching(),
		caching(),
		httpStreams(),
		headers(),
		statelessHTTP(),
		httpRows(),
		httpSSE(),
		authorization(),
		official(),
		httpEndpoint(),
		httpOrigins(),
		httpAnswers(),
		httpVersions(),
		httpSessions(),
	)
}

// Lookup returns the fault of that name.
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
	if f.Protected && o.HTTP.Guard == nil {
		o.HTTP.Guard = &server.Guard{}
	}
	o.Official = o.Official || f.Profile == "official"
	f.Apply(&o)
	return o
}
