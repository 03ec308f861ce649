package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

func TestCountsOutcomesOfListedChecks(t *testing.T) {
	list := filepath.Join(t.TempDir(), "ids.txt")
	if err := os.WriteFile(list, []byte("a.pass\na.fail\na.idle\na.hinted\na.stopped\na.absent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	counts, err := readIDs(list)
	if err != nil {
		t.Fatal(err)
	}
	s := count([]target.Outcome{
		{ID: "a.pass", Verdict: "pass"},
		{ID: "a.fail", Verdict: "fail"},
		{ID: "a.idle", Verdict: "not-observed", Detail: "no list"},
		{ID: "a.hinted", Verdict: "not-observed", Detail: "no page", Hint: "offer a page"},
		{ID: "a.stopped", Verdict: "not-run"},
		{ID: "a.absent", Verdict: "not-applicable"},
		{ID: "a.new", Verdict: "pass"},
	}, counts)
	if s.applicable != 5 || s.verdicts != 2 || s.notObserved != 2 || s.unhinted != 1 {
		t.Errorf("the share is %+v", s)
	}
	total := share{idle: map[string][]string{}}
	total.add(s, "one")
	total.add(s, "two")
	var out strings.Builder
	if err := total.printReasons(&out); err != nil {
		t.Fatal(err)
	}
	want := "    2 no list\n      hint: none\n      one a.idle, two a.idle\n" +
		"    2 no page\n      hint: offer a page\n      one a.hinted, two a.hinted\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
