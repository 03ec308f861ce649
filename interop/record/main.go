// Record writes every verdict of mcpcheck on the reference implementation and on
// the pinned targets to a file, and compares two such recordings. A change of
// mcpcheck that is not meant to change verdicts is proven by two recordings that
// are equal.
//
//	go run ./interop/record [-mcpcheck PATH] [-parallel N] -o FILE [NAME…]
//	go run ./interop/record -compare OLD NEW [-renamed FILE] [-allow FILE,…] [NAME…]
//
// With -compare it exits 1 for a change that no line of an allow file covers.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

type options struct {
	binary, out, renamed, allow string
	compare                     bool
	slots                       int
}

func main() {
	var o options
	flag.StringVar(&o.binary, "mcpcheck", "", "the mcpcheck to run (default: built from this module)")
	flag.StringVar(&o.out, "o", "", "the recording to write")
	flag.IntVar(&o.slots, "parallel", 4, "how many targets are judged at once: most of a run is waiting")
	flag.BoolVar(&o.compare, "compare", false, "compare two recordings: OLD NEW")
	flag.StringVar(&o.renamed, "renamed", "",
		"the renamed ids, a TSV file (default: docs/renamed-ids.tsv of this module)")
	flag.StringVar(&o.allow, "allow", "", "the changes that are allowed, TSV files separated by commas")
	if err := run(&o, parse(flag.CommandLine, os.Args[1:])); err != nil {
		fmt.Fprintf(os.Stderr, "record: %v\n", err)
		os.Exit(1)
	}
}

// parse reads flags before, between and behind the other arguments, and returns
// the latter.
func parse(set *flag.FlagSet, args []string) (others []string) {
	for {
		_ = set.Parse(args) // an error ends the process
		if set.NArg() == 0 {
			return others
		}
		others, args = append(others, set.Arg(0)), set.Args()[1:]
	}
}

func run(o *options, args []string) error {
	switch {
	case o.compare && len(args) < 2:
		return errors.New("-compare needs two recordings: OLD NEW")
	case o.compare:
		return compareFiles(o, args[0], args[1], args[2:])
	case o.out == "":
		return errors.New("-o FILE says where to write the recording")
	}
	return recordTargets(o, args)
}

// recordTargets judges the targets of those names, all without names, and writes
// the recording.
func recordTargets(o *options, names []string) error {
	begun := time.Now()
	bench, err := target.Open(o.binary, names, references()...)
	if err != nil {
		return err
	}
	defer bench.Close()
	lines := make([][]line, len(bench.Targets))
	failed := make([]error, len(bench.Targets))
	target.ForEach(bench.Targets, o.slots, func(i int, t target.Target) {
		began := time.Now()
		r, err := execute(bench, t)
		if err != nil {
			failed[i] = fmt.Errorf("%s: %w", t.Name, err)
			fmt.Fprintln(os.Stderr, failed[i])
			return
		}
		lines[i] = linesOf(t.Name, r, bench.Root)
		fmt.Fprintf(os.Stderr, "%s: exit code %d, speaks %s, %d verdicts, %.0f s\n",
			t.Name, r.Exit, strings.Join(r.Spoken(), " "), len(r.Outcomes), time.Since(began).Seconds())
	})
	if err := write(o.out, lines); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d targets in %.0f s\n", len(bench.Targets), time.Since(begun).Seconds())
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("the recording lacks targets: %w", err)
	}
	return nil
}

// execute judges one target.
func execute(bench *target.Environment, t target.Target) (*target.Report, error) {
	if t.Name != protected {
		return t.Execute(bench.Root, bench.Mcpcheck)
	}
	dir, err := os.MkdirTemp("", "mcpcheck-record-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	flags, stop, err := serveProtected(bench.Mcpcheck, filepath.Join(dir, "config.yaml"))
	if err != nil {
		return nil, err
	}
	defer stop()
	t.Flags = append(t.Flags, flags...)
	return t.Execute(bench.Root, bench.Mcpcheck)
}
