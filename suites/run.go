package suites

import (
	"context"
	"fmt"
	"io"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Run judges a server: one ordered container of specs per revision that it
// speaks. It returns the report also when the context ends before the run
// does; the error tells that the target could not be judged at all. Only one
// Run may be under way in a process, since Ginkgo keeps its tree in globals.
func Run(ctx context.Context, target transport.Target, o Options) (*reports.Run, error) {
	return run(ctx, target, o, specs)
}

// RunDirect judges a server as Run does but without Ginkgo, so that many runs
// may go on side by side: the kill matrix.
func RunDirect(ctx context.Context, target transport.Target, o Options) (*reports.Run, error) {
	return run(ctx, target, o, func(ctx context.Context, e *engine) {
		for _, rev := range e.spoken() {
			for _, r := range e.pending(rev) {
				if ctx.Err() != nil {
					return
				}
				e.do(ctx, r)
			}
			e.close(ctx, rev)
		}
	})
}

func run(ctx context.Context, target transport.Target, o Options, drive func(context.Context, *engine)) (*reports.Run, error) {
	if o.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Deadline, fmt.Errorf("the deadline of %s was reached: %w", o.Deadline, context.DeadlineExceeded))
		defer cancel()
	}
	e, err := newEngine(target, o)
	if err != nil {
		return nil, err
	}
	defer e.launcher.Close()
	if err := e.open(ctx); err != nil {
		e.finish(ctx)
		return e.run, err
	}
	e.expect()
	drive(ctx, e)
	return e.finish(ctx), nil
}

// tree is the testing.T that Ginkgo wants; the verdicts are in the outcomes.
type tree struct{}

func (tree) Fail() {}

// specs builds the tree of specs of servers and has Ginkgo run it.
func specs(ctx context.Context, e *engine) {
	runSpecs(e.o, func() {
		for _, rev := range e.spoken() {
			container(ctx, rev, e.kind, e.pending(rev), e.do)
		}
	})
}

// runSpecs has Ginkgo run a tree of specs.
func runSpecs(o Options, tell func()) {
	globals.Reset()
	// Ginkgo's console reporter has no off switch; ours tells the progress.
	formatter.ColorableStdOut = io.Discard
	gomega.RegisterFailHandler(ginkgo.Fail)
	// One container around all, since Ginkgo shuffles what stands at the top.
	ginkgo.Describe("mcpcheck", tell)
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.RandomSeed = int64(o.Seed%(1<<31)) + 1
	if o.Deadline > 0 {
		suite.Timeout = o.Deadline
	}
	suite.GracePeriod = o.Session.Grace
	reporter.NoColor = true
	ginkgo.RunSpecs(tree{}, "mcpcheck", suite, reporter)
}

func container(ctx context.Context, rev spec.Revision, kind transport.Kind, results []*result, do func(context.Context, *result)) {
	ginkgo.Describe(fmt.Sprintf("%s over %s", rev, kind), ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {
		for _, r := range results {
			file, line := location(r.check)
			ginkgo.It(r.check.ID+" "+r.check.Says, func(spec ginkgo.SpecContext) {
				if ctx.Err() != nil {
					ginkgo.Skip("the run has ended")
				}
				both, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)
				stop := context.AfterFunc(spec, func() { cancel(context.Cause(spec)) })
				defer stop()
				do(both, r)
				switch r.out.State {
				case check.Violated, check.Broken:
					ginkgo.Fail(r.out.Detail)
				case check.NotApplicable, check.NotObserved, check.NotRun:
					ginkgo.Skip(r.out.Detail + r.out.Cause)
				}
			}, types.CodeLocation{FileName: file, LineNumber: line})
		}
	})
}
