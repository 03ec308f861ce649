package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

var notes = target.Target{Name: "notes", Version: "1.0.0"}

func outcome(id, revision, verdict, detail string) target.Outcome {
	return target.Outcome{ID: id, Revision: revision, Transport: "stdio", Verdict: verdict, Detail: detail,
		Says: "it holds"}
}

func TestNewAndUnadjudicatedVerdictsAreReported(t *testing.T) {
	then := map[string]entry{}
	for _, e := range []entry{
		{Version: "1.0.0", Check: "a.known", Verdict: "fail", Transport: "stdio", Revisions: []string{"2025-06-18"},
			Clause: "c", Holds: "h"},
		{Version: "1.0.0", Check: "a.bare", Verdict: "warn", Transport: "stdio", Revisions: []string{"2025-06-18"},
			Clause: "c"},
		{Version: "1.0.0", Check: "a.gone", Verdict: "warn", Transport: "stdio",
			Revisions: []string{"2025-03-26", "2025-06-18"}, Clause: "c", Holds: "h"},
	} {
		then[e.key()] = e
	}
	got := compare(notes, []target.Outcome{
		outcome("a.known", "2025-06-18", "fail", "x"),
		outcome("a.known", "2025-11-25", "fail", "x"),
		outcome("a.bare", "2025-06-18", "warn", "y"),
		outcome("a.gone", "2025-03-26", "pass", ""),
		outcome("a.gone", "2025-06-18", "warn", "z"),
		outcome("a.fine", "2025-06-18", "pass", ""),
	}, then, "frames")
	want := []string{
		"new fail: a.known on stdio\n  x\n  at 2025-11-25\n  says: it holds\n  frames: frames/a.known@2025-11-25.jsonl",
		"not adjudicated warn: a.bare on stdio\n  y\n  at 2025-06-18\n  says: it holds\n  frames: " +
			"frames/a.bare@2025-06-18.jsonl",
		"vanished: a.gone is no longer warn at 2025-03-26",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAcceptsMissingVerdictOfRace(t *testing.T) {
	was := entry{Target: "notes", Version: "1.0.0", Check: "a.race", Verdict: "fail", Transport: "stdio",
		Revisions: []string{"2025-06-18"}, Clause: "c", Holds: "h", Sometimes: true}
	then := map[string]entry{was.key(): was}
	if got := compare(notes, []target.Outcome{outcome("a.race", "2025-06-18", "pass", "")}, then,
		"frames"); got != nil {
		t.Errorf("the verdict is missing: %q", got)
	}
	if got := compare(notes, []target.Outcome{outcome("a.race", "2025-11-25", "fail", "x")}, then,
		"frames"); len(got) != 1 {
		t.Errorf("at another revision: %q", got)
	}
	path := filepath.Join(t.TempDir(), "notes.jsonl")
	if err := save(path, map[string]entry{}, then); err != nil {
		t.Fatal(err)
	}
	if kept, err := readLedger(path); err != nil || !kept[was.key()].Sometimes {
		t.Errorf("after writing a run without it: %v, %v", kept, err)
	}
}

func TestVerdictOfLaterRunIsNotReportedAsVanished(t *testing.T) {
	was := entry{Target: "notes", Version: "1.0.0", Check: "a.race", Verdict: "fail", Transport: "stdio",
		Revisions: []string{"2025-06-18", "2025-11-25"}, Clause: "c", Holds: "h"}
	then := map[string]entry{was.key(): was}
	outcomes := []target.Outcome{outcome("a.race", "2025-06-18", "fail", "x"),
		outcome("a.race", "2025-11-25", "pass", "")}
	if got := vanished(notes, outcomes, then); len(got) != 1 {
		t.Fatalf("after one run: %q, want the verdict at 2025-11-25", got)
	}
	outcomes = merge(outcomes, []target.Outcome{outcome("a.race", "2025-06-18", "fail", "x"),
		outcome("a.race", "2025-11-25", "fail", "x"), outcome("a.new", "2025-11-25", "warn", "y")})
	got := compare(notes, outcomes, then, "frames")
	if len(got) != 1 || !strings.HasPrefix(got[0], "new warn: a.new") {
		t.Errorf("after two runs: %q, want the new one only", got)
	}
	if seen := entries(notes, outcomes)[was.key()].Revisions; !slices.Equal(seen, was.Revisions) {
		t.Errorf("seen at %v, want each revision once", seen)
	}
}

func TestEachVersionHasItsOwnEntry(t *testing.T) {
	old := entry{Version: "0.9.0", Check: "a.known", Verdict: "fail", Transport: "stdio",
		Revisions: []string{"2025-06-18"}, Clause: "c", Holds: "h"}
	got := compare(notes, []target.Outcome{outcome("a.known", "2025-06-18", "fail", "x")},
		map[string]entry{old.key(): old}, "frames")
	if len(got) != 2 || !strings.HasPrefix(got[0], "new fail") || !strings.HasPrefix(got[1], "vanished") {
		t.Errorf("got %q, want a new and a vanished one", got)
	}
}

func TestSaveKeepsAdjudications(t *testing.T) {
	path := filepath.Join(t.TempDir(), "verdicts", "notes.jsonl")
	outcomes := []target.Outcome{outcome("a.known", "2025-06-18", "fail", "id 7"),
		outcome("a.new", "2025-06-18", "warn", "y")}
	was := entry{Version: "1.0.0", Check: "a.known", Verdict: "fail", Transport: "stdio",
		Revisions: []string{"2025-03-26"}, Evidence: "id 3", Clause: "c", Holds: "h"}
	if err := save(path, entries(notes, outcomes), map[string]entry{was.key(): was}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"target":"notes","version":"1.0.0","check":"a.known","verdict":"fail","transport":"stdio",` +
		`"revisions":["2025-06-18"],"evidence":"id 3","clause":"c","holds":"h"}` + "\n" +
		`{"target":"notes","version":"1.0.0","check":"a.new","verdict":"warn","transport":"stdio",` +
		`"revisions":["2025-06-18"],"evidence":"y","clause":"","holds":""}` + "\n"
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	then, err := readLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := unadjudicated(outcomes, notes, then); len(got) != 1 || got[0].ID != "a.new" {
		t.Errorf("got %v, want a.new only", got)
	}
}
