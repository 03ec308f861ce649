package main

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The JSON reports of real runs are valid in the published schema.
func TestJSONReportsAreValidInTheSchema(t *testing.T) {
	t.Parallel()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	schema, err := c.Compile("../../docs/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"server --reference=no-jsonrpc-member --only jsonrpc --json -",
		"server --reference=no-jsonrpc-member --only jsonrpc --transport streamable-http --json -",
		"client --reference --only jsonrpc,ping --json -",
		"fuzz --reference=fuzz-exits-on-duplicate-member --timeout 1s --runs 300 --seed 1 --spec 2025-06-18 " +
			"--json - --out " + t.TempDir(),
		"server --start-timeout 1s --json - -- sh -c true",
	} {
		r := run(t, argv(line)...)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(r.out))
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", line, err, r.out, r.errors)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
