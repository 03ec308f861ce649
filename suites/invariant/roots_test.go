package invariant

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A server that is told of several changes at once may ask once for each, also
// while a request of the client is open: it asks on its own account.
func TestRootsMayBeAskedForAtEachChange(t *testing.T) {
	checks := roots()
	at := slices.IndexFunc(checks, func(c check.Check) bool { return c.ID == "roots.cached" })
	c := checks[at]
	c.Of = wire.Server
	ask := func(id string) wire.Frame {
		return wire.Frame{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"roots/list"}`)}
	}
	answer := func(id string) wire.Frame {
		return wire.Frame{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{"roots":[]}}`)}
	}
	changed := wire.Frame{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)}
	call := wire.Frame{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)}
	look := func(frames ...wire.Frame) check.State {
		return check.Look(c, spec.V2025_11_25, wire.TranscriptOf(frames)).State
	}
	if got := look(call, ask("1"), answer("1"), changed, changed, changed, ask("2"), answer("2"), ask("3"), answer("3"), ask("4"), answer("4")); got == check.Violated {
		t.Error("asking once for each change is held against the server")
	}
	if got := look(ask("1"), answer("1"), call, ask("2"), answer("2"), ask("3")); got != check.Violated {
		t.Errorf("asking again during one request came to %v", got)
	}
}
