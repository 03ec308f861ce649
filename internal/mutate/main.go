// Mutate measures how well the tests of mcpcheck test its checks. It draws mutants of the
// judging code, which are small changes of a statement or a condition, and prints how many
// of them some test detects (kills), and each that none does (survives).
//
//	go run ./internal/mutate -seed 1 -n 40
//	go run ./internal/mutate -n 9999 suites/ping suites/roots/judges.go:40:
//
// Arguments are the beginnings of the places to draw from; without them it draws from all.
//
// A survivor shows code that can break unnoticed. Kill it by a seeded fault
// (reference/fault), a violation file or a conforming variant, or delete the code. A mutant
// that no test can kill because it changes no verdict is listed in equivalent.tsv with the
// reason.
//
// Mutants are drawn from the functions of suites/… without the public API, tests, wording,
// conditions on which only a note depends, and named bounds: negated conditions, guards that
// never hold, other comparisons, other boolean operators, changed numbers and booleans, and
// removed statements, among them calls of Fail. The seed decides the sample.
//
// The sample is built once: an overlay of the go command replaces the mutated files, and
// the environment variable MCPCHECK_MUTANTS chooses the mutants that are in effect. The
// tests run in this order, until one kills the mutant:
//
//  1. the tests of its package; if judges use the code, those of suites/catalog, the
//     violation files and the faults of clients too
//  2. the reference without a fault, and the faults of the checks that use the mutated
//     code, the nearest first: those that use code which most checks use are left to step 3
//  3. all other tests, with all mutants that are left in effect at once; when a test
//     fails, the mutants are halved until one alone fails it
//
// A mutant on which a test or a run of a fault exceeds its time limit counts as killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"
)

// errTooFew says that too few mutants are killed.
var errTooFew = errors.New("too few mutants are killed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "decides which mutants are drawn")
	flag.IntVar(&o.size, "n", 40, "how many mutants are drawn")
	flag.DurationVar(&o.limit, "limit", 3*time.Minute, "how long one step may take for a mutant")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "how many mutants are tested at the same time")
	flag.IntVar(&o.least, "least", 0, "fail if less than this percentage is killed")
	flag.BoolVar(&o.list, "list", false, "print the sample, and run nothing")
	flag.BoolVar(&o.verbose, "v", false, "print each killed mutant with what kills it")
	isWorker := flag.Bool("differ", false, "internal: run the faults of the checks at the places of stdin")
	flag.Parse()
	if *isWorker {
		return findDifference(ctx, os.Stdin)
	}
	o.places = flag.Args()
	return o.measure(ctx, os.Stdout)
}
