// Official runs the public conformance suite against our reference server over
// HTTP. It exits 1 for a scored scenario that fails, for anything that fails
// and is not explained in explained.jsonl, for an explanation that explains
// nothing any more, and for a check of the suite that fixtures/official does not
// list. What the suite itself writes is left in interop/build/official-results.
//
//	go run ./interop/official [-mcpcheck PATH] [-parallel N] [json | sse | stateless]…
//
// The names are ways in which the reference serves: all without names.
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
	slots := flag.Int("parallel", 2, "how many runs of the suite go on at once")
	limit := flag.Duration("deadline", 5*time.Minute, "the time that one run of the suite may take")
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
	b := bench{root: root, mcpcheck: binary, limit: limit}
	ran := make([]outcome, len(trials))
	wrong := make([]error, len(trials))
	eachOf(trials, slots, func(i int, t trial) { ran[i], wrong[i] = b.run(ctx, t) })
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	verdict := judge(ran, explained, listed)
	verdict.print(os.Stdout)
	if n := len(verdict.problems); n > 0 {
		return fmt.Errorf("%d problems, listed above; the suite's own output is in %s", n, results)
	}
	return nil
}

// A trial is one run of the suite against one way of serving.
type trial struct {
	server   string   // its name
	flags    []string // what mcpcheck reference server is given
	name     string   // of the run
	args     []string // what the suite is given
	revision string   // that all scenarios are run at; "" where each has its own
	scored   bool     // the suite itself says whether all passed that has to
}

// trialsOf returns the runs for the named ways of serving, all without names.
// A server without sessions cannot do all that the scored scenarios need, so
// that there the suite scores nothing.
func trialsOf(names []string) ([]trial, error) {
	servers := []struct {
		name  string
		flags []string
	}{{"json", nil}, {"sse", []string{"--prefer-sse"}}, {"stateless", []string{"--stateless"}}}
	for _, n := range names {
		if n != "json" && n != "sse" && n != "stateless" {
			return nil, fmt.Errorf("unknown way of serving %q: there are json, sse and stateless", n)
		}
	}
	var out []trial
	for _, s := range servers {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		if s.name != "stateless" {
			for _, rev := range []string{"2025-11-25", "2026-07-28"} {
				out = append(out, trial{s.name, s.flags, "requirements " + rev, []string{"--requirements", rev}, rev, true})
			}
		}
		out = append(out, trial{s.name, s.flags, "all", []string{"--suite", "all"}, "", false})
		for _, rev := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
			out = append(out, trial{s.name, s.flags, "all " + rev, []string{"--suite", "all", "--spec-version", rev}, rev, false})
		}
	}
	return out, nil
}
