package fault

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A ClientFault is one deviation of the reference client.
type ClientFault struct {
	Name     string            // kebab-case
	Does     string            // one line: how the client deviates
	In       spec.Set          // the revisions in which it deviates; empty as in Fault
	Breaks   []string          // the ledger rows that it breaks; empty as in Fault
	CaughtBy []string          // the check that must catch it, as in Fault
	Also     map[string]string // other checks that must fail for the same deviation, as in Fault
	// Apply builds the deviation into the options.
	Apply clientApply
}

// Revisions returns the revisions in which the fault deviates. stated returns
// the revisions of a check.
func (f ClientFault) Revisions(stated func(check string) spec.Set) spec.Set {
	return revisions(f.In, f.CaughtBy, stated)
}

// LookupClient returns the fault of the client with that name.
func LookupClient(name string) (ClientFault, error) {
	for _, f := range Clients() {
		if f.Name == name {
			return f, nil
		}
	}
	return ClientFault{}, fmt.Errorf("no fault of the client is named %q", name)
}
