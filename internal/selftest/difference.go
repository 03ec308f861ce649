package selftest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A Selection says what FirstDifference runs.
type Selection struct {
	IDs     []string // of the checks, those whose faults are run first at the beginning
	Brief   bool     // run a fault at its newest revision, with the checks that it names
	Workers int      // how many runs are made at the same time
	Done    func()   // called after each run
}

// FirstDifference runs some checks on the reference, and on the reference with each
// fault that names one of them. It returns the first outcome that differs from what the
// faults and the list of unobserved checks say, "" if none differs. A fault is run with
// these checks and those that it names, and if that differs alone with all checks: Run
// proves that no other check fails.
func FirstDifference(ctx context.Context, which Selection) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := &differ{Selection: which}
	jobs := make(chan func() (string, error))
	var first string
	var failure error
	var once sync.Once
	var running sync.WaitGroup
	for range which.Workers {
		running.Go(func() {
			for job := range jobs {
				found, err := job()
				which.Done()
				if ctx.Err() == nil && (found != "" || err != nil) {
					once.Do(func() { first, failure = found, err })
					stop()
				}
			}
		})
	}
	for _, job := range slices.Concat(d.variantJobs(ctx), d.faultJobs(ctx)) {
		if ctx.Err() != nil {
			break
		}
		jobs <- job
	}
	close(jobs)
	running.Wait()
	return first, failure
}

// A differ makes the runs of FirstDifference.
type differ struct {
	Selection
	alone sync.RWMutex // held by a run that no other may delay
}

func (d *differ) isChosen(c check.Check) bool { return slices.Contains(d.IDs, c.ID) }

// variantJobs run the chosen checks on the reference without a fault.
func (d *differ) variantJobs(ctx context.Context) (jobs []func() (string, error)) {
	for _, v := range variants() {
		jobs = append(jobs, func() (string, error) {
			d.alone.RLock()
			v.run(ctx, d.isChosen)
			d.alone.RUnlock()
			if v.err == nil && v.isUnexpected() && ctx.Err() == nil {
				d.alone.Lock()
				v.run(ctx, nil)
				d.alone.Unlock()
			}
			if v.err != nil {
				return "", v.err
			}
			for _, o := range v.Run.Outcomes {
				if v.isUnexpectedOutcome(o) {
					return fmt.Sprintf("%s at %s: %s is %s: %s", &v, o.Revision, o.ID, o.Verdict, o.Detail), nil
				}
			}
			return "", nil
		})
	}
	return jobs
}

// distance returns the place of the first chosen check that a fault names, -1 if it names
// none.
func (d *differ) distance(f fault.Fault) int {
	return slices.IndexFunc(d.IDs, func(id string) bool { return slices.Contains(named(f), id) })
}

// faultJobs run the faults that name a chosen check, at the newest revision first.
func (d *differ) faultJobs(ctx context.Context) (jobs []func() (string, error)) {
	faults := slices.DeleteFunc(fault.All(), func(f fault.Fault) bool { return d.distance(f) < 0 })
	slices.SortStableFunc(faults, func(a, b fault.Fault) int { return cmp.Compare(d.distance(a), d.distance(b)) })
	cells := cellsOf(faults)
	isNewest := func(c Cell) bool { return c.Fault.Revisions(revisionsOf).Newest() == c.Revision }
	older := slices.DeleteFunc(slices.Clone(cells), isNewest)
	cells = slices.DeleteFunc(cells, func(c Cell) bool { return !isNewest(c) })
	first := attempt{deadlines: shortDeadlines(), named: everyCell}
	if !d.Brief {
		cells = append(cells, older...)
		first.beside = d.isChosen
	}
	for _, c := range cells {
		jobs = append(jobs, func() (string, error) {
			d.alone.RLock()
			c.compute(ctx, []attempt{first})
			d.alone.RUnlock()
			if !c.Exact() && ctx.Err() == nil {
				d.alone.Lock()
				c.compute(ctx, []attempt{{deadlines: shortDeadlines()}, {deadlines: longDeadlines()}})
				d.alone.Unlock()
			}
			if wrong := c.wrong(); len(wrong) > 0 {
				return wrong[0], nil
			}
			return "", nil
		})
	}
	return jobs
}
