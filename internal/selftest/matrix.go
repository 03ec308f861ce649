// Package selftest proves the checks: it runs all of them against every seeded fault
// of the reference, and requires that exactly those fail which the fault names.
package selftest

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// A Cell is one fault at one revision.
type Cell struct {
	Fault      fault.Fault
	Revision   spec.Revision
	Failed     []reports.Outcome // verdict fail, warn or broken
	Missing    []string          // checks that the fault names and that did not fail
	Unexpected []string          // checks that failed and that the fault does not name
	Err        error
	filled     bool
	namedOnly  bool // it was computed with the checks alone that the fault names
}

// Exact reports whether the checks that failed are those that the fault names.
func (c Cell) Exact() bool {
	return c.filled && c.Err == nil && len(c.Missing) == 0 && len(c.Unexpected) == 0
}

// A Matrix is every fault at every revision of its own, and the reference without a
// fault.
type Matrix struct {
	Cells    []Cell
	Variants []Variant
	Repeated int // cells that were not exact at first, and were repeated with longer deadlines
	Took     time.Duration
}

// Select returns the faults whose name, or one of whose checks, matches a glob;
// all without globs. A glob that matches nothing is an error that names it.
func Select(faults []fault.Fault, globs []string) ([]fault.Fault, error) {
	if len(globs) == 0 {
		return faults, nil
	}
	matches := func(glob string, f fault.Fault) bool {
		ids := append([]string{f.Name}, f.CaughtBy...)
		return slices.ContainsFunc(ids, func(id string) bool { return catalog.Matches(glob, id) })
	}
	for _, glob := range globs {
		if !slices.ContainsFunc(faults, func(f fault.Fault) bool { return matches(glob, f) }) {
			return nil, fmt.Errorf("no fault, and no check that catches one, matches %q", glob)
		}
	}
	return slices.DeleteFunc(slices.Clone(faults), func(f fault.Fault) bool {
		return !slices.ContainsFunc(globs, func(glob string) bool { return matches(glob, f) })
	}), nil
}

// Run computes the matrix of the faults with that many workers.
func Run(ctx context.Context, faults []fault.Fault, workers int) (*Matrix, error) {
	m := &Matrix{Cells: cellsOf(faults), Variants: variants()}
	return run(ctx, m, workers, attempt{deadlines: shortDeadlines()}, attempt{deadlines: longDeadlines()})
}

// RunNamed computes the matrix with the checks alone that a fault names, and with all
// checks where these are not exact. Only Run proves that no other check fails, and
// covers the less common variants of the reference.
func RunNamed(ctx context.Context, faults []fault.Fault, workers int) (*Matrix, error) {
	isRare := func(v Variant) bool { return v.Serial || v.Streams || v.Profile != "" }
	common := slices.DeleteFunc(variants(), isRare)
	return run(ctx, &Matrix{Cells: cellsOf(faults), Variants: common}, workers,
		attempt{deadlines: shortDeadlines(), named: everyCell},
		attempt{deadlines: shortDeadlines()},
		attempt{deadlines: longDeadlines()})
}

// RunNewest computes the matrix as Run does at the newest revision of each fault, and as
// RunNamed does at the others, in about half the time.
func RunNewest(ctx context.Context, faults []fault.Fault, workers int) (*Matrix, error) {
	isOlder := func(c *Cell) bool { return c.Revision != c.Fault.Revisions(revisionsOf).Newest() }
	return run(ctx, &Matrix{Cells: cellsOf(faults), Variants: variants()}, workers,
		attempt{deadlines: shortDeadlines(), named: isOlder},
		attempt{deadlines: shortDeadlines()},
		attempt{deadlines: longDeadlines()})
}

// gcPercent is how far the heap may grow before garbage is collected: many short
// runs leave much garbage and few live objects.
const gcPercent = 800

// run computes each cell of a matrix by the attempts, one after another, until it is
// exact.
func run(ctx context.Context, m *Matrix, workers int, attempts ...attempt) (*Matrix, error) {
	began := time.Now()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64)) // no peer is hostile
	var running sync.WaitGroup
	for i := range m.Variants {
		running.Go(func() { m.Variants[i].run(ctx, nil) })
	}
	m.Repeated = m.fill(ctx, workers, attempts...)
	running.Wait()
	for i := range m.Variants {
		v := &m.Variants[i]
		if v.err == nil && v.isUnexpected() && ctx.Err() == nil {
			v.run(ctx, nil) // alone: beside others it may have been late
		}
		if v.err != nil {
			return nil, fmt.Errorf("%s: %w", v, v.err)
		}
	}
	m.fill(ctx, 1, attempt{deadlines: longDeadlines()})
	m.Took = time.Since(began)
	return m, ctx.Err()
}

// cellsOf returns the empty cells of the faults that checks catch.
func cellsOf(faults []fault.Fault) []Cell {
	var cells []Cell
	for _, f := range faults {
		if f.Fuzz {
			continue
		}
		for _, rev := range f.Revisions(revisionsOf).Revisions() {
			cells = append(cells, Cell{Fault: f, Revision: rev})
		}
	}
	return cells
}
