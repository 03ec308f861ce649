package fuzz

import (
	"maps"
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

func TestToolPolicyExaminesCallsAtAnyDepth(t *testing.T) {
	policy := toolPolicy{tools: map[string]permission{
		"look":   {arguments: []string{`{"at":"x"}`}},
		"remove": {},
		"mine":   {anyArguments: true},
	}}
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	for line, allowed := range map[string]bool{
		call(`{"name":"look","arguments":{"at":"x"}}`):                                              true,
		call(`{"name":"look","arguments":{ "at" : "x" }}`):                                          true,
		call(`{"name":"look","arguments":{"at":"y"}}`):                                              false,
		call(`{"name":"look","arguments":{"at":"x","at":"y"}}`):                                     false,
		call(`{"name":"look"}`):                                                                     false,
		call(`{"name":"remove","arguments":{}}`):                                                    false,
		call(`{"name":"remove"}`):                                                                   false,
		call(`{"name":"mine","arguments":{"anything":1}}`):                                          true,
		call(`{"name":"mine","name":"remove"}`):                                                     false,
		call(`{"name":"unknown","arguments":[1]}`):                                                  true,
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"remove"}}`: false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"params":{"name":"remove"}}`:     false,
		`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove"}}]`:               false,
		`{"x":{"method":"tools/call","params":{"name":"remove"}}}`:                                  false,
		`{"Method":"TOOLS/CALL","Params":{"Name":"remove"}}`:                                        false,
		`{"method":"tools\u002fcall","params":{"name":"r\u0065move"}}`:                              false,
		`{"\u006dethod":"\u0074ools/call","params":{"name":"remove"}}`:                              false,
		`{"method":"tools/list","params":{"name":"remove"}}`:                                        true,
		// may be read
		`{"method":"tools/call","params":{"name":"remove"`: false,
		`{"method":"tools/call","params":{"name":"look"`:   true,
		"\ufeff" + call(`{"name":"remove"}`):               false,
		call(`{"name":"remove"}`) + "\r":                   false,
	} {
		if got := policy.allows([]byte(line)); got != allowed {
			t.Errorf("%q: allowed = %v", line, got)
		}
	}
}

func TestCallsOnlyReadOnlyAndAllowedTools(t *testing.T) {
	t.Parallel()
	readOnly := readOnlyTools(t)
	for _, c := range []struct {
		allow string
		runs  int
	}{{"", 1000}, {"borrow_book", 800}} {
		target := newRecordingTarget(server.Options{})
		o := testOptions()
		o.Runs, o.AllowTool = c.runs, func(tool string) bool { return tool == c.allow }
		r, err := Run(t.Context(), target, o)
		if err != nil {
			t.Fatal(err)
		}
		called := map[string]int{}
		for _, line := range target.lines {
			m := wire.Parse([]byte(line))
			if m.Method() != "tools/call" {
				continue
			}
			name := m.Params().Get("name").String()
			called[name]++
			if isReadOnly, isListed := readOnly[name]; isListed && !isReadOnly && name != c.allow {
				t.Fatalf("with %q allowed, %s was called: %s", c.allow, name, line)
			}
		}
		if called["search_catalogue"] == 0 && called["opening_hours"] == 0 {
			t.Errorf("no read-only tool was called: %v", called)
		}
		if c.allow != "" && called[c.allow] == 0 {
			t.Errorf("%s is allowed and was not called", c.allow)
		}
		if c.allow == "" && (r.Stats.Withheld == 0 || !slices.Contains(r.Stats.WithheldTools, "borrow_book")) {
			t.Errorf("%d plans were withheld, tools %v", r.Stats.Withheld, r.Stats.WithheldTools)
		}
	}
}

// readOnlyTools returns the tools of the reference, and whether each is declared
// read-only.
func readOnlyTools(t *testing.T) map[string]bool {
	t.Helper()
	rev := spec.V2025_11_25
	d := &discovery{
		ctx: t.Context(), rev: rev, conn: openConnection(t, server.Target("reference", server.Options{}), rev),
	}
	out := map[string]bool{}
	for _, tool := range d.list("tools/list", "tools") {
		out[tool.Get("name").String()] = tool.Get("annotations.readOnlyHint").Bool()
	}
	if len(out) < 8 || !out["opening_hours"] || out["borrow_book"] {
		t.Fatalf("the reference offers %v", slices.Sorted(maps.Keys(out)))
	}
	return out
}
