// Package selftest proves the checks: every seeded fault of the reference is
// run against all of them, and those that object must be exactly the ones that
// the fault names.
package selftest

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/authserver"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
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
		return slices.ContainsFunc(append([]string{f.Name}, f.CaughtBy...), func(id string) bool { return catalog.Matches(glob, id) })
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
	Streams bool   // it answers each request by a stream, and has clients come back for what takes long
	Modern  bool   // it has no handshake revisions, which some rules are for
	Serial  bool   // one instance of it runs at a time
	// Protected: only who brings an access token is served.
	Protected bool
	Run       *reports.Run
	err       error
}

func (h Honest) String() string {
	text := "the honest server over " + string(h.Over)
	if h.Profile != "" {
		text += " with the public contract"
	}
	if h.Streams {
		text += " with streams alone"
	}
	if h.Modern {
		text += " without handshake revisions"
	}
	if h.Serial {
		text += " one instance at a time"
	}
	if h.Protected {
		text += " with a guard"
	}
	return text
}

// honest are the ways in which the honest server is judged.
func honest() []Honest {
	return []Honest{
		{Over: transport.Stdio},
		{Over: transport.Stdio, Serial: true},
		{Over: transport.Stdio, Serial: true, Modern: true},
		{Over: transport.HTTP, Profile: catalog.Official},
		{Over: transport.Stdio, Profile: catalog.Official},
		{Over: transport.HTTP},
		{Over: transport.HTTP, Streams: true},
		{Over: transport.HTTP, Modern: true},
		{Over: transport.HTTP, Protected: true},
		{Over: transport.SSE},
	}
}

// odd tells whether a run says of the honest server what it should not, or does not
// see what has a subject on it: it may have been held up.
func (h *Honest) odd() bool {
	return slices.ContainsFunc(h.Run.Outcomes, func(o reports.Outcome) bool {
		switch o.Verdict {
		case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
			return true
		case reports.NotObserved:
			return h.plain() && !slices.Contains(unobserved, o.ID)
		}
		return false
	})
}

// plain tells whether what a run leaves unobserved does not depend on when things
// happen, or on the public contract.
func (h *Honest) plain() bool { return h.Profile == "" && !h.Streams }

// held is how long the honest server that has clients come back holds a stream:
// less than the shortest of its work takes that is looked at.
const held = 60 * time.Millisecond

// judge has the checks of the revisions that there are over the transport run.
func (h *Honest) judge(ctx context.Context) {
	o, revisions := server.Options{}, spec.Revisions()
	if h.Profile != "" {
		o, revisions = server.Options{Official: true, Pace: pace}, spec.Since(spec.V2025_06_18).Revisions()
	}
	if h.Streams {
		o.HTTP = server.HTTP{PreferSSE: true, Hold: held, Retry: pace}
	}
	if h.Modern {
		o.Revisions, revisions = spec.Stateless, spec.Stateless.Revisions()
	}
	deadlines := alone()
	deadlines.Serial = h.Serial
	h.Run, h.err = judge(ctx, target{h.Over, h.Protected, o}, revisions, h.Profile, nil, deadlines)
}

// beside are the deadlines of runs in process: an answer comes within
// microseconds or not at all, so that a short wait mostly is proof enough. On
// a busy machine it may not be: what came out otherwise than it should is run
// again with the deadlines of alone, if need be alone, and that counts.
func beside() session.Options {
	o := session.Defaults()
	o.Timeout, o.StartTimeout, o.Grace = 600*time.Millisecond, 5*time.Second, 600*time.Millisecond
	o.Addresses = func() []netip.Addr { // so that nothing is opened to other machines
		if a, ok := server.Beside(); ok {
			return []netip.Addr{a}
		}
		return nil
	}
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
	return run(ctx, faults, honest(), workers, trial{deadlines: beside()}, trial{deadlines: alone()})
}

// RunNamed computes the matrix against the checks alone that a fault names, and
// against all where these do not come out exactly: that no other check objects is
// for Run to prove, and so is what the honest server comes to in less common ways.
func RunNamed(ctx context.Context, faults []fault.Fault, workers int) (*Matrix, error) {
	common := slices.DeleteFunc(honest(), func(h Honest) bool { return h.Serial || h.Streams || h.Profile != "" })
	return run(ctx, faults, common, workers, trial{deadlines: beside(), named: true}, trial{deadlines: beside()}, trial{deadlines: alone()})
}

// A trial is one way to compute a cell.
type trial struct {
	deadlines session.Options
	named     bool // by the checks alone that the fault names
}

// checks are those that a trial has run on a server with a fault; nil for all.
func (by trial) checks(f fault.Fault) []check.Check {
	if !by.named {
		return nil
	}
	return slices.DeleteFunc(catalog.InProfile(f.Profile, catalog.Of(wire.Server, catalog.Checks())), func(c check.Check) bool {
		return !slices.Contains(named(f), c.ID)
	})
}

// run tries each cell in these ways, one after another, until it is exact.
func run(ctx context.Context, faults []fault.Fault, honest []Honest, workers int, trials ...trial) (*Matrix, error) {
	began := time.Now()
	// Many short runs leave much garbage and little that lives.
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	m := &Matrix{Cells: make([]Cell, 0, len(faults)*5)}
	stated := revisionsOf(suites.All())
	for _, f := range faults {
		if f.Fuzz {
			continue // found by the fuzzer, not by a check
		}
		for _, rev := range f.Revisions(stated).Revisions() {
			m.Cells = append(m.Cells, Cell{Fault: f, Revision: rev})
		}
	}
	m.Honest = honest
	var judging sync.WaitGroup
	for i := range m.Honest {
		judging.Go(func() { m.Honest[i].judge(ctx) })
	}
	m.Again = m.fill(ctx, workers, trials...)
	judging.Wait()
	for i := range m.Honest {
		h := &m.Honest[i]
		if h.err == nil && h.odd() && ctx.Err() == nil {
			h.judge(ctx) // alone, as the cells are that are not exact beside others
		}
		if h.err != nil {
			return nil, fmt.Errorf("%s: %w", h, h.err)
		}
	}
	m.fill(ctx, 1, trial{deadlines: alone()})
	m.Took = time.Since(began)
	return m, ctx.Err()
}

// pace is that of the tools of the public contract: their pauses prove nothing.
const pace = time.Millisecond

// A target is the reference server to be judged: over which transport, with a
// guard or without.
type target struct {
	over      transport.Kind
	protected bool
	o         server.Options
}

// serve begins to serve it, and returns what the checks are given of it.
func (t target) serve() (at transport.Target, given check.Given, end func(), err error) {
	switch {
	case t.protected:
		s, err := authserver.Serving(t.over, t.o)
		if err != nil {
			return nil, given, nil, err
		}
		given.Authorization = check.Authorization{Tokens: s.Tokens, Private: authserver.Cards(), Mint: func(_ context.Context, scope string) (string, error) {
			return s.Server.Mint(authserver.First, s.Server.Issuer()+"/mcp", scope)
		}}
		return s.Site, given, s.End, nil
	case t.over == transport.HTTP, t.over == transport.SSE:
		site, end, err := server.Serving(t.over, t.o)
		return site, given, end, err
	}
	return server.Target("reference", t.o), given, func() {}, nil
}

func judge(ctx context.Context, t target, revisions []spec.Revision, profile string, checks []check.Check, deadlines session.Options) (*reports.Run, error) {
	at, given, end, err := t.serve()
	if err != nil {
		return nil, err
	}
	defer end()
	return engine.Run(ctx, at, engine.Options{
		Checks: checks, Revisions: revisions, Profile: profile, Given: given, Session: deadlines, Allow: func(string) bool { return true },
	})
}

// fill computes the cells that are not exact, several at a time, each with the
// deadlines one after another until it is, and returns how many took more than
// the first.
func (m *Matrix) fill(ctx context.Context, workers int, trials ...trial) (again int) {
	work := make(chan *Cell)
	var wait sync.WaitGroup
	var more atomic.Int64
	for range max(1, workers) {
		wait.Go(func() {
			for c := range work {
				for i, by := range trials {
					if c.Exact() || ctx.Err() != nil {
						break
					}
					if i == 1 {
						more.Add(1)
					}
					*c = Cell{Fault: c.Fault, Revision: c.Revision}
					c.fill(ctx, by)
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

func (c *Cell) fill(ctx context.Context, by trial) {
	c.filled = true
	run, err := judge(ctx, target{c.Fault.Over, c.Fault.Protected, c.Fault.Options(server.Options{Pace: pace})}, []spec.Revision{c.Revision}, c.Fault.Profile, by.checks(c.Fault), by.deadlines)
	if err != nil {
		c.Err = err
		return
	}
	checks := catalog.Checks()
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
	on := map[string]transport.Set{}
	for _, c := range catalog.Checks() {
		on[c.ID] = c.On
	}
	for _, h := range m.Honest {
		for _, o := range h.Run.Outcomes {
			switch {
			case o.Verdict == reports.Fail || o.Verdict == reports.Warn || o.Verdict == reports.Broken || o.Verdict == reports.NotRun:
				out = append(out, fmt.Sprintf("%s at %s: %s is %s: %s%s", h, o.Revision, o.ID, o.Verdict, o.Detail, o.Cause))
			case o.Verdict != reports.Pass && h.Profile != "" && o.Area == catalog.Official && on[o.ID].Has(h.Over):
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
