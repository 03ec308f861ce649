package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

// absent stands for the value of a subject that one recording lacks.
const absent = "absent"

// A change is a verdict or a level that is not the same in both recordings.
type change struct {
	target string
	target.Subject
	from, to string
	kind     string // what reports say before the id: "", "missing " or "new "
	details  [2]string
	reason   string // why it is allowed; "" where it counts
}

// compareFiles prints what changed between two recordings on the targets of
// those names, on all without names. A change that counts is an error.
func compareFiles(o *options, before, after string, names []string) error {
	if o.renamed == "" {
		root, err := target.Root()
		if err != nil {
			return err
		}
		o.renamed = filepath.Join(root, "docs", "renamed-ids.tsv")
	}
	ids, err := readRenames(o.renamed)
	if err != nil {
		return err
	}
	allowed, err := readAllowances(o.allow, ids)
	if err != nil {
		return err
	}
	older, err := read(before, names, ids)
	if err != nil {
		return err
	}
	newer, err := read(after, names, ids)
	if err != nil {
		return err
	}
	if len(older) == 0 {
		return fmt.Errorf("%s has no line of these targets", before)
	}
	if counted := printChanges(os.Stdout, compare(older, newer, allowed)); counted > 0 {
		return fmt.Errorf("%d changes", counted)
	}
	return nil
}

// compare returns the changes, by target and subject.
func compare(older, newer recording, allowed []allowance) []change {
	var out []change
	was, is := older.ids(), newer.ids()
	all := maps.Clone(older)
	maps.Copy(all, newer)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, c := range differing(older[name], newer[name]) {
			c.target = name
			switch {
			case !is[c.ID]:
				c.kind = "missing "
			case !was[c.ID]:
				c.kind = "new "
			}
			if i := slices.IndexFunc(allowed, func(a allowance) bool { return a.covers(c) }); i >= 0 {
				c.reason = cmp.Or(allowed[i].reason, "none given")
			}
			out = append(out, c)
		}
	}
	return out
}

// differing returns the verdicts and levels that changed on one target. A
// revision that is spoken in one recording only is one change, and its verdicts
// are none.
func differing(older, newer map[target.Subject]target.Outcome) []change {
	var out []change
	isCompared := func(s target.Subject) bool {
		spoken := target.Subject{ID: idSpoken, Revision: s.Revision}
		return s.ID == idSpoken || older[spoken].Verdict == newer[spoken].Verdict
	}
	verdict := func(o target.Outcome) string { return o.Verdict }
	level := func(o target.Outcome) string { return o.Level }
	for _, s := range target.Differing(verdict, older, newer) {
		if isCompared(s) {
			out = append(out, change{
				Subject: s, from: cmp.Or(older[s].Verdict, absent), to: cmp.Or(newer[s].Verdict, absent),
				details: [2]string{older[s].Detail, newer[s].Detail},
			})
		}
	}
	for _, s := range target.Differing(level, older, newer) {
		if older[s].Level != "" && newer[s].Level != "" {
			out = append(out, change{Subject: s, from: older[s].Level, to: newer[s].Level})
		}
	}
	return out
}

// ids returns the ids that the recording has on any target.
func (r recording) ids() map[string]bool {
	out := map[string]bool{}
	for _, outcomes := range r {
		for s := range outcomes {
			out[s.ID] = true
		}
	}
	return out
}

// printChanges prints the changes, those that are allowed last, then how many
// count on each target. It returns how many count.
func printChanges(w io.Writer, changes []change) (counted int) {
	var allowed []change
	byTarget := map[string]int{}
	count := func(c change) bool {
		if c.reason != "" {
			allowed = append(allowed, c)
			return true
		}
		byTarget[c.target]++
		return false
	}
	rest := slices.DeleteFunc(slices.Clone(changes), count)
	printGroups(w, "", rest)
	printGroups(w, "allowed: ", allowed)
	for _, name := range slices.Sorted(maps.Keys(byTarget)) {
		fmt.Fprintf(w, "%s: %d changes\n", name, byTarget[name])
	}
	fmt.Fprintf(w, "%d changes, and %d that are allowed\n", len(rest), len(allowed))
	return len(rest)
}

// printGroups prints equal changes in one paragraph.
func printGroups(w io.Writer, prefix string, changes []change) {
	groups := map[string][]change{}
	for _, c := range changes {
		title := fmt.Sprintf("%s%s%s: %s -> %s", prefix, c.kind, c.ID, c.from, c.to)
		groups[title] = append(groups[title], c)
	}
	for _, title := range slices.Sorted(maps.Keys(groups)) {
		printGroup(w, title, groups[title])
	}
}

// printGroup prints equal changes: at which revisions of which targets, and the
// details of the first.
func printGroup(w io.Writer, title string, changes []change) {
	fmt.Fprintf(w, "%s (%d)\n", title, len(changes))
	revisions := map[string][]string{} // by target
	for _, c := range changes {
		revisions[c.target] = append(revisions[c.target], c.Revision)
	}
	targets := map[string][]string{} // by revisions
	for name, at := range revisions {
		key := strings.Join(at, " ")
		targets[key] = append(targets[key], name)
	}
	for _, at := range slices.Sorted(maps.Keys(targets)) {
		slices.Sort(targets[at])
		fmt.Fprintf(w, "  %s\n", strings.TrimPrefix(at+": "+strings.Join(targets[at], ", "), ": "))
	}
	for i, when := range []string{"old", "new"} {
		if detail := changes[0].details[i]; detail != "" {
			fmt.Fprintf(w, "  %s: %s\n", when, strings.ReplaceAll(detail, "\n", "\n    "))
		}
	}
	if changes[0].reason != "" {
		fmt.Fprintf(w, "  reason: %s\n", changes[0].reason)
	}
}
