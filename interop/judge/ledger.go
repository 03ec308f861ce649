package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

// An entry is a verdict of one check on one target at some revisions, with its
// adjudication.
type entry struct {
	Target    string   `json:"target"`
	Version   string   `json:"version"`
	Check     string   `json:"check"`
	Verdict   string   `json:"verdict"`
	Transport string   `json:"transport"`
	Revisions []string `json:"revisions"`
	Evidence  string   `json:"evidence"` // the detail that mcpcheck reported
	Clause    string   `json:"clause"`   // the clause that is broken
	Holds     string   `json:"holds"`    // why the verdict is right

	// Sometimes reports that a race in the peer decides: a run without the verdict
	// is no difference.
	Sometimes bool `json:"sometimes,omitempty"`
}

func (e entry) key() string {
	return strings.Join([]string{e.Version, e.Check, e.Verdict, e.Transport}, " ")
}

func (e entry) adjudicated() bool { return e.Clause != "" && e.Holds != "" }

func entryOf(t target.Target, o target.Outcome) entry {
	return entry{Target: t.Name, Version: t.Version, Check: o.ID, Verdict: o.Verdict, Transport: o.Transport,
		Evidence: o.Detail}
}

// entries returns the fails and warns of a run by key.
func entries(t target.Target, outcomes []target.Outcome) map[string]entry {
	out := map[string]entry{}
	for _, o := range outcomes {
		if !o.IsViolation() {
			continue
		}
		e := entryOf(t, o)
		if known, ok := out[e.key()]; ok {
			e = known
		}
		e.Revisions = append(e.Revisions, o.Revision)
		out[e.key()] = e
	}
	return out
}

// unadjudicated returns the fails and warns that the ledger has not, or has without a
// clause and a reason.
func unadjudicated(outcomes []target.Outcome, t target.Target, then map[string]entry) []target.Outcome {
	return slices.DeleteFunc(slices.Clone(outcomes), func(o target.Outcome) bool {
		was := then[entryOf(t, o).key()]
		return !o.IsViolation() || slices.Contains(was.Revisions, o.Revision) && was.adjudicated()
	})
}

// compare returns each new or unadjudicated verdict with its revisions, the rule
// and the file of its frames, and each verdict that has vanished.
func compare(t target.Target, outcomes []target.Outcome, then map[string]entry, frames string) []string {
	var wrong []string
	type group struct {
		first     target.Outcome
		revisions []string
	}
	groups := map[string]*group{}
	for _, o := range unadjudicated(outcomes, t, then) {
		state := "new"
		if slices.Contains(then[entryOf(t, o).key()].Revisions, o.Revision) {
			state = "not adjudicated"
		}
		key := fmt.Sprintf("%s %s: %s on %s\n  %s", state, o.Verdict, o.ID, o.Transport, o.Detail)
		if groups[key] == nil {
			groups[key] = &group{first: o}
		}
		groups[key].revisions = append(groups[key].revisions, o.Revision)
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := groups[key]
		lines := []string{key, "  at " + strings.Join(g.revisions, " "), "  says: " + g.first.Says}
		for _, rule := range g.first.Rules {
			lines = append(lines, "  rule: "+rule.ID+" "+rule.URL)
		}
		lines = append(lines, "  frames: "+filepath.Join(frames, g.first.ID+"@"+g.first.Revision+".jsonl"))
		wrong = append(wrong, strings.Join(lines, "\n"))
	}
	return append(wrong, vanished(t, outcomes, then)...)
}

// vanished names the verdicts of the ledger that the outcomes lack, except those
// that a race decides.
func vanished(t target.Target, outcomes []target.Outcome, then map[string]entry) []string {
	var out []string
	now := entries(t, outcomes)
	for _, key := range slices.Sorted(maps.Keys(then)) {
		e := then[key]
		gone := slices.DeleteFunc(slices.Clone(e.Revisions),
			func(rev string) bool { return slices.Contains(now[key].Revisions, rev) })
		if len(gone) > 0 && !e.Sometimes {
			out = append(out, fmt.Sprintf("vanished: %s is no longer %s at %s", e.Check, e.Verdict,
				strings.Join(gone, " ")))
		}
	}
	return out
}

// merge returns the outcomes of a run and the further fails and warns of another run.
func merge(outcomes, again []target.Outcome) []target.Outcome {
	out := slices.Clone(outcomes)
	for _, o := range again {
		known := slices.ContainsFunc(out, func(k target.Outcome) bool {
			return k.ID == o.ID && k.Verdict == o.Verdict && k.Transport == o.Transport && k.Revision == o.Revision
		})
		if o.IsViolation() && !known {
			out = append(out, o)
		}
	}
	return out
}

// readLedger returns the entries of a file by key, none if there is no file.
func readLedger(path string) (map[string]entry, error) {
	lines, err := target.ReadLines[entry](path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]entry{}
	for _, e := range lines {
		out[e.key()] = e
	}
	return out, nil
}

// save writes the present verdicts. An adjudicated one keeps its clause, reason
// and evidence, which belong together. One that a race decides stays even if it
// is not present.
func save(path string, now, then map[string]entry) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	lines := maps.Clone(now)
	for key, was := range then {
		line, ok := now[key]
		if was.Sometimes {
			line, ok = was, true
		}
		if ok && was.adjudicated() {
			line.Evidence, line.Clause, line.Holds = was.Evidence, was.Clause, was.Holds
		}
		if ok {
			lines[key] = line
		}
	}
	var sorted []entry
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		sorted = append(sorted, lines[key])
	}
	return target.WriteLines(path, sorted)
}
