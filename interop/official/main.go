// Official runs the public conformance suite against the reference server over
// HTTP. It exits 1 for a scored scenario that fails, for a check that does not
// succeed and is not explained in explained.jsonl, for an explanation that no
// longer applies, and for a check of the suite that fixtures/official does not
// list. The output of the suite stays in interop/build/official-results.
//
//	go run ./interop/official [-mcpcheck PATH] [-parallel N] [json | sse | stateless]…
//
// The names are modes of the reference server; without names all are used. A
// trial is one run of the suite, a suiteResult is what it wrote, and an
// evaluation compares all results with the explanations.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/interop/target"
)

func main() {
	binary := flag.String("mcpcheck", "", "the mcpcheck to run (default: built from this module)")
	slots := flag.Int("parallel", 2, "how many runs of the suite execute at once")
	limit := flag.Duration("deadline", 5*time.Minute, "the time limit of one run of the suite")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *binary, *slots, *limit, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "official: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, binary string, slots int, limit time.Duration, names []string) error {
	trials, err := trialsOf(names)
	if err != nil {
		return err
	}
	root, err := target.Root()
	if err != nil {
		return err
	}
	listed, err := fixtures.ReadOfficial()
	if err != nil {
		return err
	}
	explained, err := readExplained(filepath.Join(root, "interop", "official", "explained.jsonl"))
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
	r := runner{root: root, mcpcheck: binary, timeout: limit}
	ran := make([]suiteResult, len(trials))
	errs := make([]error, len(trials))
	forEach(trials, slots, func(i int, t trial) { ran[i], errs[i] = r.run(ctx, t) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	e := evaluate(ran, explained, listed)
	e.write(os.Stdout)
	if n := len(e.problems); n > 0 {
		return fmt.Errorf("%d problems, listed above; the output of the suite is in %s", n, resultsDir)
	}
	return nil
}

// A trial is one run of the suite against one mode of the reference server.
type trial struct {
	mode     string
	flags    []string // of mcpcheck reference server
	name     string   // of the run
	args     []string // of the suite
	revision string   // of all scenarios; "" where each has its own
	scored   bool     // the exit code says whether all required scenarios pass
}

// trialsOf returns the trials of the named modes, of all modes without names. A
// server without sessions cannot pass all scored scenarios, so that none of its
// trials is scored.
func trialsOf(names []string) ([]trial, error) {
	modes := []struct {
		name  string
		flags []string
	}{{"json", nil}, {"sse", []string{"--prefer-sse"}}, {"stateless", []string{"--stateless"}}}
	for _, n := range names {
		if n != "json" && n != "sse" && n != "stateless" {
			return nil, fmt.Errorf("unknown mode %q; the modes are json, sse and stateless", n)
		}
	}
	var out []trial
	for _, m := range modes {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		if m.name != "stateless" {
			for _, rev := range []string{"2025-11-25", "2026-07-28"} {
				args := []string{"--requirements", rev}
				out = append(out, trial{m.name, m.flags, "requirements " + rev, args, rev, true})
			}
		}
		out = append(out, trial{m.name, m.flags, "all", []string{"--suite", "all"}, "", false})
		for _, rev := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
			args := []string{"--suite", "all", "--spec-version", rev}
			out = append(out, trial{m.name, m.flags, "all " + rev, args, rev, false})
		}
	}
	return out, nil
}
