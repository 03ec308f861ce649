// Bugs runs mcpcheck on released packages that have a known protocol bug, and on
// the releases that fix it. It prints which bugs are detected by a check that names
// them, and exits 1 if that differs from interop/bugs/bugs.jsonl.
//
//	go run ./interop/bugs [-quick] [-mcpcheck PATH] [-jobs N] [-differ] [NAME…]
//
// A bug with a fixed release is a pair. It is detected if a check that bugs.jsonl
// lists for it fails or warns on the buggy release and does neither on the fixed
// one. A live bug has no fixed release; it is detected if such a check fails or
// warns. A result that differs from bugs.jsonl counts if two further runs do not
// give the expected one.
//
// What is not installed is installed into interop/build/bugs first. The reports
// are written to interop/build/bugs/reports.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

func main() {
	quick := flag.Bool("quick", false, "only the bugs of the quick subset")
	binary := flag.String("mcpcheck", "", "the mcpcheck to run (default: built from this module)")
	jobs := flag.Int("jobs", 2, "how many releases are tested at once")
	differ := flag.Bool("differ", false, "print all checks that fail or warn on the buggy release only")
	flag.Parse()
	if err := run(*binary, *quick, *differ, *jobs, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "bugs: %v\n", err)
		os.Exit(1)
	}
}

func run(binary string, quick, differ bool, jobs int, names []string) error {
	root, err := target.Root()
	if err != nil {
		return err
	}
	bugs, err := readBugs(root, names, quick)
	if err != nil {
		return err
	}
	if binary == "" {
		built, done, err := target.Build(root)
		if err != nil {
			return err
		}
		defer done()
		binary = built
	}
	if err := install(root, bugs, jobs); err != nil {
		return err
	}
	// Some servers compare paths without following links.
	installed, err := filepath.EvalSymlinks(filepath.Join(root, releases))
	if err != nil {
		return err
	}
	rows, err := tryAll(&runner{root: root, installed: installed, binary: binary, jobs: jobs}, bugs)
	if err != nil {
		return err
	}
	printTable(rows)
	if differ {
		printDiffering(rows)
	}
	wrong := 0
	for _, r := range rows {
		if why := r.wrong(); why != "" {
			fmt.Printf("%s: %s\n", r.bug.Slug, why)
			wrong++
		}
	}
	if wrong > 0 {
		return errors.New("results differ from interop/bugs/bugs.jsonl")
	}
	return nil
}

// laterRuns is how often a bug is tried again whose result differs from the table.
const laterRuns = 2

// tryAll tries every bug, and those again whose result differs from the table.
func tryAll(r *runner, bugs []bug) ([]row, error) {
	rows, err := r.try(bugs)
	for range laterRuns {
		var again []bug
		var places []int
		for i, row := range rows {
			if row.wrong() != "" {
				again, places = append(again, row.bug), append(places, i)
			}
		}
		if err != nil || len(again) == 0 {
			break
		}
		var later []row
		later, err = r.try(again)
		for i, row := range later {
			rows[places[i]] = row
		}
	}
	return rows, err
}

// A runner runs mcpcheck on releases.
type runner struct {
	root, installed, binary string
	jobs                    int
}

// try runs mcpcheck on the releases of the bugs over their transports. Bugs of one
// release and program share a run.
func (r *runner) try(bugs []bug) ([]row, error) {
	type result struct {
		report *target.Report
		err    error
	}
	var targets []target.Target
	places := map[string]int{}
	for _, b := range bugs {
		for _, transport := range b.transports() {
			for _, rel := range b.releases() {
				t := b.targetOn(r.installed, rel, transport)
				if _, ok := places[keyOf(t)]; !ok {
					places[keyOf(t)] = len(targets)
					targets = append(targets, t)
				}
			}
		}
	}
	results := make([]result, len(targets))
	target.ForEach(targets, r.jobs, func(i int, t target.Target) {
		began := time.Now()
		results[i].report, results[i].err = t.Execute(r.root, r.binary)
		fmt.Fprintf(os.Stderr, "bugs: tested %s over %s in %v\n", filepath.Base(t.Cwd), t.Transport,
			time.Since(began).Round(time.Second))
	})
	var rows []row
	for _, b := range bugs {
		w := row{bug: b}
		for _, transport := range b.transports() {
			tr := trial{bug: b, transport: transport}
			for _, rel := range b.releases() {
				got := results[places[keyOf(b.targetOn(r.installed, rel, transport))]]
				tr.reports, tr.err = append(tr.reports, got.report), errors.Join(tr.err, got.err)
			}
			w.trials = append(w.trials, tr)
			if err := r.save(tr); err != nil {
				return nil, err
			}
		}
		rows = append(rows, w)
	}
	return rows, nil
}

// keyOf returns what two targets have in common that need one run.
func keyOf(t target.Target) string {
	return t.Kind + " " + t.Transport + " " + strings.Join(t.Command, " ")
}

// save writes the reports of a trial.
func (r *runner) save(t trial) error {
	dir := filepath.Join(r.installed, "reports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i, report := range t.reports {
		text, err := json.MarshalIndent(report, "", " ")
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%s-%s.json", t.bug.Slug, t.transport, []string{"buggy", "fixed"}[i])
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// printTable prints a line for each bug, transport and check, why bugs are missed,
// and the totals.
func printTable(rows []row) {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "bug\ttransport\tresult\tcheck\tbuggy\tfixed")
	for _, r := range rows {
		for _, t := range r.trials {
			result := "missed"
			switch {
			case r.bug.Hidden:
				result = "hidden"
			case len(t.detectedBy()) > 0:
				result = "detected"
			}
			if len(t.bug.Checks) == 0 || t.unusable() != "" {
				fmt.Fprintf(w, "%s\t%s\t%s\t\t\t\n", r.bug.Slug, t.transport, result)
				continue
			}
			for _, check := range t.bug.Checks {
				fixed := "(live)"
				if len(t.reports) > 1 {
					fixed = verdictOf(t.reports[1], check)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.bug.Slug, t.transport, result, check,
					verdictOf(t.reports[0], check), fixed)
			}
		}
	}
	w.Flush()
	for _, r := range rows {
		if !r.isDetected() {
			fmt.Printf("%s is missed: %s\n", r.bug.Slug, r.bug.Missed)
		}
	}
	for _, side := range []string{"server", "client"} {
		fmt.Println(totals(rows, side))
	}
}

// printDiffering prints the checks that distinguish the releases of each pair.
func printDiffering(rows []row) {
	for _, r := range rows {
		for _, t := range r.trials {
			if ids := t.differing(); len(ids) > 0 {
				fmt.Printf("%s over %s differs in %s\n", r.bug.Slug, t.transport, strings.Join(ids, " "))
			}
		}
	}
}
