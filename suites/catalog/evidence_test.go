package catalog

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

var update = flag.Bool("update", false, "rewrite "+evidenceFile)

const evidenceFile = "testdata/evidence.tsv"

// A judge passes in the golden exchanges that give its rule a subject, and in no other.
// The list has the number of these for each judge. A number that grows without a new
// exchange shows a judge that passes without a subject, and one that falls a judge that
// lost its subject.
//
// go test ./suites/catalog -run Evidence -update rewrites the list: read the difference.
func TestJudgesHaveEvidence(t *testing.T) {
	var got []string
	passes := map[string]int{}
	for _, rev := range spec.Revisions() {
		for _, e := range fixtures.Golden(rev) {
			view := check.NewView(rev, e.Transcript())
			for _, c := range allJudges() {
				if c.In.Has(rev) && view.Judge(c).State == check.Kept {
					passes[c.ID]++
				}
			}
		}
	}
	for _, c := range allJudges() {
		got = append(got, fmt.Sprintf("%s\t%d", c.ID, passes[c.ID]))
	}
	slices.Sort(got)
	if *update {
		if err := os.WriteFile(evidenceFile, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(evidenceFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s does not have %q", evidenceFile, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s has %q, which is not so", evidenceFile, line)
		}
	}
}
