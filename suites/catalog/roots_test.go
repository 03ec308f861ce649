package catalog

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// After several changes a server may send one roots/list for each, also while a request of
// the client is open.
func TestAcceptsRootsRequestAtEachChange(t *testing.T) {
	c := find(t, "roots.cached")
	ask := func(id string) wire.Frame {
		return wire.Frame{From: wire.Server, Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"roots/list"}`)}
	}
	answer := func(id string) wire.Frame {
		return wire.Frame{From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{"roots":[]}}`)}
	}
	changed := wire.Frame{
		From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`),
	}
	call := wire.Frame{
		From: wire.Client, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`),
	}
	look := func(frames ...wire.Frame) check.State {
		return check.Judge(c, spec.V2025_11_25, wire.TranscriptOf(frames)).State
	}
	if got := look(call, ask("1"), answer("1"), changed, changed, changed, ask("2"), answer("2"), ask("3"), answer("3"),
		ask("4"), answer("4")); got == check.Violated {
		t.Error("one request for each change fails the check")
	}
	if got := look(ask("1"), answer("1"), call, ask("2"), answer("2"), ask("3")); got != check.Violated {
		t.Errorf("a repeated request without a change is in state %v, want %v", got, check.Violated)
	}
}

// One check reports invalid params of roots/list, also in a batch. At a revision without
// roots/list it is the check of params in general.
func TestReportsParamsOfRootsRequestOnce(t *testing.T) {
	all := Judges()
	look := func(id string, rev spec.Revision, raw string) check.State {
		at := slices.IndexFunc(all, func(c check.Check) bool { return c.ID == id })
		return check.Judge(all[at], rev, wire.TranscriptOf([]wire.Frame{{From: wire.Server, Raw: []byte(raw)}})).State
	}
	for _, c := range []struct {
		name          string
		rev           spec.Revision
		raw           string
		roots, object check.State
	}{
		{
			"array", spec.V2025_11_25, `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":[]}`, check.Violated,
			check.NotObserved,
		},
		{
			"in a batch", spec.V2025_03_26, `[{"jsonrpc":"2.0","id":1,"method":"roots/list","params":"x"}]`,
			check.Violated, check.NotObserved,
		},
		{"absent", spec.V2024_11_05, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, check.Kept, check.NotObserved},
		{
			"object", spec.V2025_06_18, `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}`, check.Kept,
			check.NotObserved,
		},
		{
			"other request", spec.V2025_11_25, `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`,
			check.NotObserved, check.Violated,
		},
		{
			"other revision", spec.V2026_07_28, `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":[]}`,
			check.NotObserved, check.Violated,
		},
	} {
		if got := look("roots.request.params", c.rev, c.raw); got != c.roots {
			t.Errorf("%s: roots.request.params is in state %v", c.name, got)
		}
		if got := look("jsonrpc.params.object", c.rev, c.raw); got != c.object {
			t.Errorf("%s: jsonrpc.params.object is in state %v", c.name, got)
		}
	}
}
