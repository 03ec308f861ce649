package fault

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/client"
)

// A ClientFault is one deviation of the honest client.
type ClientFault struct {
	Name     string            // kebab-case
	Does     string            // one line: how the client deviates
	In       spec.Set          // the revisions in which it deviates
	Breaks   []string          // the ledger rows it breaks
	CaughtBy []string          // the one check that must catch it, or the twins of a level change
	Also     map[string]string // other checks that must fire for the same deviation, each with its reason; at most three
	// Apply builds the deviation into the options.
	Apply func(o *client.Options)
}

// LookupClient returns the fault of the client of that name.
func LookupClient(name string) (ClientFault, error) {
	for _, f := range Clients() {
		if f.Name == name {
			return f, nil
		}
	}
	return ClientFault{}, fmt.Errorf("no fault of the client is named %q", name)
}
