package batching

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// clientCopies returns the judges of clients whose rules bind both ends.
func clientCopies() []check.Check {
	return check.CopyForClients(judges(), []check.ClientCopy{
		{ID: "batching.element.kinds", In: spec.Only(spec.V2025_03_26), Hint: "let the client send a batch"},
	})
}
