package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// options are the flags.
type options struct {
	seed          uint64
	size          int
	places        []string
	limit         time.Duration
	parallel      int
	least         int
	list, verbose bool
}

// A measurement is one run of this program.
type measurement struct {
	o       *options
	build   *build
	uses    *useGraph
	began   time.Time
	mu      sync.Mutex // guards stderr
	reasons map[int]string
}

// measure draws mutants, runs the tests on them and prints the score.
func (o *options) measure(ctx context.Context, w io.Writer) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	all, err := listPackages(ctx, root)
	if err != nil {
		return err
	}
	sources, err := loadSources(root, all)
	if err != nil {
		return err
	}
	equivalent, err := equivalences()
	if err != nil {
		return err
	}
	sample, population := o.draw(sources, equivalent)
	fmt.Fprintf(w, "%d of %d mutants, seed %d; %d are known to be equivalent\n", len(sample), population, o.seed,
		len(equivalent))
	if o.list {
		for _, m := range sample {
			fmt.Fprintln(w, m)
		}
		return nil
	}
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	r := &measurement{o: o, uses: newUseGraph(sources), began: time.Now(), reasons: map[int]string{}}
	if r.build, err = newBuild(ctx, root, folder, sources, all, sample); err != nil {
		return err
	}
	r.progress("built in %s", time.Since(r.began).Round(time.Second))
	if err := r.run(ctx, sample); err != nil {
		return err
	}
	return r.report(w, sample)
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	return strings.TrimSpace(string(out)), err
}

// progress prints a line to stderr.
func (r *measurement) progress(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(os.Stderr, "%4.0fs  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// run finds out what kills each mutant: alone by the nearest tests, then together by all
// others.
func (r *measurement) run(ctx context.Context, sample []mutant) error {
	work := make(chan mutant)
	var running sync.WaitGroup
	var mu sync.Mutex
	var failure error
	for range max(1, r.o.parallel) {
		running.Go(func() {
			for m := range work {
				began := time.Now()
				why, err := r.kill(ctx, m)
				mu.Lock()
				if err != nil {
					failure = err
				}
				if why != "" {
					r.reasons[m.id] = why
				}
				mu.Unlock()
				r.progress("%s %.1fs %s", m, time.Since(began).Seconds(), why)
			}
		})
	}
	for _, m := range sample {
		work <- m
	}
	close(work)
	running.Wait()
	if failure != nil {
		return failure
	}
	left := slices.DeleteFunc(slices.Clone(sample), func(m mutant) bool { return r.reasons[m.id] != "" })
	r.progress("%d mutants are left for the other tests", len(left))
	killed, err := r.killTogether(ctx, left)
	for id, why := range killed {
		r.reasons[id] = why
	}
	return err
}

// report prints the score and the survivors.
func (r *measurement) report(w io.Writer, sample []mutant) error {
	killed := len(r.reasons)
	for _, m := range sample {
		switch why := r.reasons[m.id]; {
		case why == "":
			fmt.Fprintf(w, "survives  %s\n", m)
		case r.o.verbose:
			fmt.Fprintf(w, "killed    %s\n            %s\n", m, why)
		}
	}
	percent := 100 * killed / max(1, len(sample))
	fmt.Fprintf(w, "%d of %d mutants are killed (%d %%), in %s\n", killed, len(sample), percent,
		time.Since(r.began).Round(time.Second))
	if percent < r.o.least {
		return fmt.Errorf("%w: %d %%, want %d %%", errTooFew, percent, r.o.least)
	}
	return nil
}
