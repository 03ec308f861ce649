package reports

import (
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// FuzzParseBaseline reads arbitrary text as a baseline. An error is one line.
// An accepted baseline is complete, and is the same when it is written and read again.
func FuzzParseBaseline(f *testing.F) {
	for _, text := range []string{
		"", "# nothing\n", "[]", "- check: a.b\n  reason: it is old\n",
		"- {check: a.b, revision: 2025-06-18, transport: stdio, reason: x}\n- {check: a.b, reason: y}\n",
		"- check: a\n  reason: x\n- check: a\n  reason: y\n", "- check: a\n  reason: \"\"\n",
		"- {check: a, reason: x, revision: 2025}", "- {check: a, reason: x, transport: carrier}",
		"- a\n", "check: a\n", "- {check: [a], reason: x}", "- {check: a, reason: x, other: 1}",
		"- &x {check: a, reason: x}\n- *x\n", "- {check: a, reason: |\n",
		"- check: a\n  reason: |\n    two\n    lines\n",
		"- check: \"\\x1b[31m\"\n  reason: \"\\u2028\"\n", "\ufeff- {check: a, reason: x}", "- ~\n",
		"- {check: 1, reason: 2}\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := parseBaseline(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || err.Error() == "" {
				t.Errorf("the error is %q", err)
			}
			return
		}
		for _, e := range b.entries {
			_, err := spec.ParseRevision(e.Revision)
			if e.Check == "" || strings.TrimSpace(e.Reason) == "" || e.Revision != "" && err != nil {
				t.Errorf("accepted the entry %+v", e)
			}
		}
		written, err := yaml.Marshal(b.entries)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseBaseline(written)
		if err != nil {
			t.Fatalf("%s\nis not read again: %v", written, err)
		}
		for _, both := range []*Baseline{b, again} {
			for i := range both.entries {
				both.entries[i].line = 0
			}
		}
		if len(b.entries) > 0 && !reflect.DeepEqual(again.entries, b.entries) {
			t.Errorf("%s\nis read as %+v, want %+v", written, again.entries, b.entries)
		}
	})
}
