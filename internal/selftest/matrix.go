// Package selftest proves the checks: every seeded fault of the reference is
// run against all of them, and those that object must be exactly the ones that
// the fault names.
package selftest

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A Cell is one fault at one revision.
type Cell struct {
	Fault    fault.Fault
	Revision spec.Revision
	Objected []reports.Outcome // verdict fail, warn or broken
	Missing  []string          // named by the fault, but silent
	Surplus  []string          // objected, but not named
	Err      error
	filled   bool
}

// Exact tells whether those that objected are those that the fault names.
func (c Cell) Exact() bool {
	return c.filled && c.Err == nil && len(c.Missing) == 0 && len(c.Surplus) == 0
}

// Select returns the faults whose name, or one of whose checks, matches a glob;
// all where there is none. A glob that matches nothing is an error that names it.
func Select(faults []fault.Fault, globs []string) ([]fault.Fault, error) {
	if len(globs) == 0 {
		return faults, nil
	}
	matches := func(glob string, f fault.Fault) bool {
		return slices.ContainsFunc(append([]string{f.Name}, f.CaughtBy...), func(id string) bool { return suites.Matches(glob, id) })
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

// A Matrix is every fault at every revision of its own, and the honest server.
type Matrix struct {
	Cells  []Cell
	Honest []Honest
	Again  int // cells that were not exact beside others, and were run again with time to spare
	Took   time.Duration
}

// Honest is what the checks say of the server without a fault.
type Honest struct {
	Over    transport.Kind
	Profile string // what it offers, and is judged by too
	Run     *reports.Run
	err     error
}

func (h Honest) String() string {
	text := "the honest server over " + string(h.Over)
	if h.Profile != "" {
		text += " with the public contract"
	}
	return text
}

// honest are the ways in which the honest server is judged.
func honest() []Honest {
	return []Honest{
		{Over: transport.Stdio},
		{Over: transport.Stdio, Profile: suites.Official},
		{Over: transport.HTTP},
		{Over: transport.SSE},
	}
}

// judge has the checks of the revisions that there are over the transport run.
func (h *Honest) judge(ctx context.Context) {
	o, revisions := server.Options{}, spec.Revisions()
	if h.Profile != "" {
		o, revisions = server.Options{Official: true, Pace: pace}, spec.Since(spec.V2025_06_18).Revisions()
	}
	h.Run, h.err = judge(ctx, h.Over, o, revisions, h.Profile, alone())
}

// beside are the deadlines of runs in process: an answer comes within
// microseconds or not at all, so that a short wait mostly is proof enough. On
// a busy machine it may not be: what came out otherwise than it should is run
// again with the deadlines of alone, if need be alone, and that counts.
func beside() session.Options {
	o := session.Defaults()
	o.Timeout, o.StartTimeout, o.Grace = 600*time.Millisecond, 5*time.Second, 600*time.Millisecond
	return o
}

func alone() session.Options {
	o := beside()
	o.Timeout, o.Grace = 3*time.Second, 3*time.Second
	return o
}

// Workers is how many cells to compute side by side on this machine: more than
// it has processors, since a cell mostly waits for what does not come.
func Workers() int { return 9 * runtime.NumCPU() }

// gcPercent is how far the heap may grow before garbage is collected while the
// matrix is computed.
const gcPercent = 800

// Run computes the matrix of the faults, several at a time.
func Run(ctx context.Context, faults []fault.Fault, workers int) (*Matrix, error) {
	began := time.Now()
	// Many short runs leave much garbage and little that lives.
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	m := &Matrix{Cells: make([]Cell, 0, len(faults)*5)}
	for _, f := range faults {
		if f.Fuzz {
			continue // found by the fuzzer, not by a check
		}
		for _, rev := range f.In.Revisions() {
			m.Cells = append(m.Cells, Cell{Fault: f, Revision: rev})
		}
	}
	m.Honest = honest()
	var judging sync.WaitGroup
	for i := range m.Honest {
		judging.Go(func() { m.Honest[i].judge(ctx) })
	}
	m.Again = m.fill(ctx, workers, beside(), alone())
	judging.Wait()
	for _, h := range m.Honest {
		if h.err != nil {
			return nil, fmt.Errorf("%s: %w", h, h.err)
		}
	}
	m.fill(ctx, 1, alone())
	m.Took = time.Since(began)
	return m, ctx.Err()
}

// pace is that of the tools of the public contract: their pauses prove nothing.
const pace = time.Millisecond

func judge(ctx context.Context, over transport.Kind, o server.Options, revisions []spec.Revision, profile string, deadlines session.Options) (*reports.Run, error) {
	var target transport.Target = server.Target("reference", o)
	if over == transport.HTTP || over == transport.SSE {
		site, end, err := server.Serving(over, o)
		if err != nil {
			return nil, err
		}
		defer end()
		target = site
	}
	return suites.RunDirect(ctx, target, suites.Options{
		Revisions: revisions, Profile: profile, Session: deadlines, Allow: func(string) bool { return true },
	})
}

// fill computes the cells that are not exact, several at a time, each with the
// deadlines one after another until it is, and returns how many took more than
// the first.
func (m *Matrix) fill(ctx context.Context, workers int, deadlines ...session.Options) (again int) {
	work := make(chan *Cell)
	var wait sync.WaitGroup
	var more atomic.Int64
	for range max(1, workers) {
		wait.Go(func() {
			for c := range work {
				for i, d := range deadlines {
					if c.Exact() || ctx.Err() != nil {
						break
					}
					if i == 1 {
						more.Add(1)
					}
					*c = Cell{Fault: c.Fault, Revision: c.Revision}
					c.fill(ctx, d)
				}
			}
		})
	}
	for i := range m.Cells {
		if c := &m.Cells[i]; !c.Exact() && ctx.Err() == nil {
			work <- c
		}
	}
	close(work)
	wait.Wait()
	return int(more.Load())
}

func (c *Cell) fill(ctx context.Context, deadlines session.Options) {
	c.filled = true
	run, err := judge(ctx, c.Fault.Over, c.Fault.Options(server.Options{Pace: pace}), []spec.Revision{c.Revision}, c.Fault.Profile, deadlines)
	if err != nil {
		c.Err = err
		return
	}
	checks := suites.All()
	want := slices.DeleteFunc(named(c.Fault), func(id string) bool {
		at := slices.IndexFunc(checks, func(k check.Check) bool { return k.ID == id })
		return at < 0 || !checks[at].In.Has(c.Revision)
	})
	got := map[string]bool{}
	for _, o := range run.Outcomes {
		switch o.Verdict {
		case reports.Fail, reports.Warn, reports.Broken:
			c.Objected = append(c.Objected, o)
			got[o.ID] = true
			if !slices.Contains(want, o.ID) {
				c.Surplus = append(c.Surplus, o.ID)
			}
		}
	}
	for _, id := range want {
		if !got[id] {
			c.Missing = append(c.Missing, id)
		}
	}
	if len(want) == 0 {
		c.Err = fmt.Errorf("no check named by the fault is of %s", c.Revision)
	}
}

// Wrong returns what keeps the matrix from being a proof, sorted.
func (m *Matrix) Wrong() []string {
	var out []string
	for _, h := range m.Honest {
		for _, o := range h.Run.Outcomes {
			switch {
			case o.Verdict == reports.Fail || o.Verdict == reports.Warn || o.Verdict == reports.Broken || o.Verdict == reports.NotRun:
				out = append(out, fmt.Sprintf("%s at %s: %s is %s: %s%s", h, o.Revision, o.ID, o.Verdict, o.Detail, o.Cause))
			case o.Verdict != reports.Pass && h.Profile != "" && o.Area == suites.Official:
				out = append(out, fmt.Sprintf("%s at %s: %s is %s: %s", h, o.Revision, o.ID, o.Verdict, o.Detail))
			}
		}
	}
	for _, c := range m.Cells {
		switch {
		case c.Err != nil:
			out = append(out, fmt.Sprintf("fault %s at %s: %v", c.Fault.Name, c.Revision, c.Err))
		case len(c.Missing) > 0:
			out = append(out, fmt.Sprintf("fault %s at %s was not caught by %s", c.Fault.Name, c.Revision, strings.Join(c.Missing, ", ")))
		}
		for _, id := range c.Surplus {
			for _, o := range c.Objected {
				if o.ID == id {
					out = append(out, fmt.Sprintf("fault %s at %s also set off %s (%s): %s", c.Fault.Name, c.Revision, id, o.Verdict, o.Detail))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// Write prints the matrix: a line per fault with what caught it.
func (m *Matrix) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "FAULT\tCAUGHT BY\tREVISIONS\tWHAT IT DOES")
	killed, cells := 0, 0
	for i := 0; i < len(m.Cells); {
		f := m.Cells[i].Fault
		var revisions []string
		exact := true
		for ; i < len(m.Cells) && m.Cells[i].Fault.Name == f.Name; i++ {
			mark := ""
			if !m.Cells[i].Exact() {
				mark, exact = "!", false
			} else {
				killed++
			}
			cells++
			revisions = append(revisions, string(m.Cells[i].Revision)+mark)
		}
		caught := strings.Join(f.CaughtBy, ", ")
		if !exact {
			caught = "NOT EXACTLY: " + caught
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.Name, caught, shorten(revisions), f.Does)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	verdicts := 0
	for _, h := range m.Honest {
		verdicts += len(h.Run.Outcomes)
	}
	_, err := fmt.Fprintf(w, "\n%d of %d faults-at-a-revision set off exactly the checks they name; %d run again with time to spare; %d verdicts on the honest server; %s\n",
		killed, cells, m.Again, verdicts, m.Took.Round(time.Millisecond))
	return err
}

// shorten names revisions by year and month, all of them by a word.
func shorten(revisions []string) string {
	if len(revisions) == len(spec.Revisions()) && !strings.Contains(strings.Join(revisions, ""), "!") {
		return "all"
	}
	return strings.Join(revisions, " ")
}
