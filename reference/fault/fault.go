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
	Name     string            // kebab-case
	Does     string            // one line: how the server deviates
	In       spec.Set          // the revisions in which it deviates
	Breaks   []string          // the ledger rows it breaks
	CaughtBy []string          // the one check that must catch it, or the twins of a level change
	Also     map[string]string // other checks that must fire for the same deviation, each with its reason; at most three
	Fuzz     bool              // the fuzzer must find it
	// Profile names the fixtures that it is about, "" for none: "official" has
	// the server offer the public conformance contract.
	Profile string
	// Over is the transport that shows it, where stdio does not; "" for stdio.
	Over transport.Kind
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
		official(),
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

// Options returns the options with the fault built in.
func (f Fault) Options(o server.Options) server.Options {
	o.Official = o.Official || f.Profile == "official"
	f.Apply(&o)
	return o
}
