package selftest

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// An attempt is one way to compute a cell.
type attempt struct {
	deadlines session.Options
	named     func(*Cell) bool       // in these cells, with the checks alone that the fault names
	beside    func(check.Check) bool // and with these, if it is not nil
}

// serverChecks are the checks of servers.
var serverChecks = sync.OnceValue(func() []check.Check { return catalog.Of(wire.Server, catalog.Checks()) })

// checkRevisions are the revisions of the checks, by id.
var checkRevisions = sync.OnceValue(func() map[string]spec.Set {
	in := map[string]spec.Set{}
	for _, c := range catalog.Checks() {
		in[c.ID] = c.In
	}
	return in
})

// revisionsOf returns the revisions of a check.
func revisionsOf(id string) spec.Set { return checkRevisions()[id] }

// everyCell is true of every cell.
func everyCell(*Cell) bool { return true }

// checksOf returns the checks that an attempt runs in a cell.
func (a attempt) checksOf(of *Cell) []check.Check {
	checks := catalog.InProfile(of.Fault.Profile, serverChecks())
	if !of.namedOnly {
		return checks
	}
	ids := named(of.Fault)
	return slices.DeleteFunc(checks, func(c check.Check) bool {
		return !slices.Contains(ids, c.ID) && (a.beside == nil || !a.beside(c))
	})
}

// Workers returns how many cells are computed at the same time on this machine: more
// than it has processors, since a cell often waits for an answer that does not come.
func Workers() int { return 9 * runtime.NumCPU() }

// fill computes the cells that are not exact by the attempts, one after another, and
// returns how many needed more than the first attempt.
func (m *Matrix) fill(ctx context.Context, workers int, attempts ...attempt) (repeated int) {
	work := make(chan *Cell)
	var running sync.WaitGroup
	var n atomic.Int64
	for range max(1, workers) {
		running.Go(func() {
			for c := range work {
				if c.compute(ctx, attempts) > 1 {
					n.Add(1)
				}
			}
		})
	}
	for _, c := range m.order() {
		if !c.Exact() && ctx.Err() == nil {
			work <- c
		}
	}
	close(work)
	running.Wait()
	return int(n.Load())
}

// order returns the cells in the order in which they are computed. Those over HTTP
// come first: some of them wait long, and others are computed meanwhile.
func (m *Matrix) order() []*Cell {
	cells := make([]*Cell, len(m.Cells))
	for i := range m.Cells {
		cells[i] = &m.Cells[i]
	}
	rank := func(c *Cell) int {
		if c.Fault.Over == transport.HTTP || c.Fault.Over == transport.SSE {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(cells, func(a, b *Cell) int { return cmp.Compare(rank(a), rank(b)) })
	return cells
}

// compute computes a cell by the attempts until it is exact, and returns how many it
// needed.
func (c *Cell) compute(ctx context.Context, attempts []attempt) (needed int) {
	for _, a := range attempts {
		if c.Exact() || ctx.Err() != nil {
			break
		}
		needed++
		*c = Cell{Fault: c.Fault, Revision: c.Revision, filled: true, namedOnly: a.named != nil && a.named(c)}
		s := subject{c.Fault.Over, c.Fault.Protected, c.Fault.Options(server.Options{StepDelay: pace})}
		r, err := s.judge(ctx, engine.Options{
			Checks: a.checksOf(c), Revisions: []spec.Revision{c.Revision}, Profile: c.Fault.Profile,
			Session: a.deadlines,
		})
		if err != nil {
			c.Err = err
			continue
		}
		c.compare(r)
	}
	return needed
}

// compare compares the checks that failed with those that the fault names.
func (c *Cell) compare(r *reports.Run) {
	want := slices.DeleteFunc(named(c.Fault), func(id string) bool { return !revisionsOf(id).Has(c.Revision) })
	if len(want) == 0 {
		c.Err = fmt.Errorf("no check that the fault names is of %s", c.Revision)
	}
	failed := map[string]bool{}
	for _, o := range r.Outcomes {
		switch o.Verdict {
		case reports.Fail, reports.Warn, reports.Broken:
			c.Failed = append(c.Failed, o)
			failed[o.ID] = true
			if !slices.Contains(want, o.ID) {
				c.Unexpected = append(c.Unexpected, o.ID)
			}
		}
	}
	c.Missing = slices.DeleteFunc(want, func(id string) bool { return failed[id] })
}
