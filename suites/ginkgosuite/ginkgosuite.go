// Package ginkgosuite shows the checks as a Ginkgo suite, for people who have one:
//
//	var _ = ginkgosuite.Describe(suites.Command("./my-server"))
//
// The tree has a container for each revision, in it one for each area, in it a spec
// for each check. A spec passes, fails (a broken MUST; with suites.Strict also a
// warning) or is skipped with the reason. The labels of a spec are its revision, its
// area, its level (MUST, SHOULD, ROBUST) and, if the target has one transport, that.
// --label-filter, --focus, --skip and ginkgo -p work: only the selected checks run.
//
// Building the tree does not touch the target. The first selected spec of a revision
// starts the run of that revision; each spec waits for the outcome of its check, so
// that the order of specs and the order of checks are independent.
package ginkgosuite

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
)

// Describe adds the checks of a server to the tree of the suite. It returns true, for
// use in a variable declaration.
func Describe(target suites.Target, options ...suites.Option) bool {
	return describe("server", target, options, false)
}

// DescribeClient adds the checks of a client to the tree of the suite.
func DescribeClient(target suites.Target, options ...suites.Option) bool {
	return describe("client", target, options, true)
}

func describe(role string, target suites.Target, options []suites.Option, client bool) bool {
	return ginkgo.Describe(fmt.Sprintf("%s %s", role, target), func() {
		// This engine lists the checks; each revision gets one of its own.
		e, err := engine.OfTarget(target, options, client, "")
		if err != nil {
			ginkgo.It("has a valid target and options", func() { ginkgo.Fail(err.Error()) })
			return
		}
		for _, rev := range e.AskedFor() {
			container(e, rev, &lane{rev: rev, start: func(ctx context.Context) (*engine.Engine, error) {
				own, err := engine.OfTarget(target, options, client, rev)
				if err != nil {
					return nil, err
				}
				return own, own.Open(ctx)
			}, owned: true})
		}
	})
}

// Run runs the suite in a program that is no test binary and returns the report, also
// if ctx ends before the run does. An error says that the target could not be judged
// at all. Only one Run may be under way in a process, since Ginkgo keeps its tree in
// global variables.
func Run(ctx context.Context, target suites.Target, options ...suites.Option) (*suites.Result, error) {
	e := engine.Opened(target)
	if e == nil {
		var err error
		if e, err = engine.OfTarget(target, options, false, ""); err != nil {
			return nil, err
		}
	}
	ctx, cancel := e.WithDeadline(ctx)
	defer cancel()
	if err := e.Open(ctx); err != nil {
		return e.Finish(ctx), err
	}
	runSpecs(e, func() {
		for _, rev := range e.Revisions() {
			container(e, rev, &lane{rev: rev, parent: ctx, start: func(context.Context) (*engine.Engine, error) {
				return e, nil
			}})
		}
	})
	return e.Finish(ctx), nil
}

// failures is the testing.T that Ginkgo asks for; the verdicts are in the outcomes.
type failures struct{}

func (failures) Fail() {}

// runSpecs has Ginkgo run a tree of specs.
func runSpecs(e *engine.Engine, build func()) {
	globals.Reset()
	// Ginkgo's console reporter cannot be switched off; the caller reports progress.
	formatter.ColorableStdOut = io.Discard
	// One container around all, since Ginkgo shuffles top-level containers.
	ginkgo.Describe("mcpcheck", build)
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.RandomSeed = int64(e.Options().Seed%(1<<31)) + 1
	if e.Options().Deadline > 0 {
		suite.Timeout = e.Options().Deadline
	}
	suite.GracePeriod = e.Options().Session.Grace
	reporter.NoColor = true
	ginkgo.RunSpecs(failures{}, "mcpcheck", suite, reporter)
}

// container adds the checks of a revision.
func container(e *engine.Engine, rev spec.Revision, l *lane) {
	labels := ginkgo.Label(string(rev), string(e.Kind()))
	ginkgo.Describe(string(rev), ginkgo.Ordered, ginkgo.ContinueOnFailure, labels, func() {
		ginkgo.BeforeAll(func(ctx ginkgo.SpecContext) {
			l.begin(ctx)
			ginkgo.DeferCleanup(l.end)
		})
		planned := e.Planned(rev)
		for _, area := range areasOf(planned) {
			ginkgo.Describe(area, ginkgo.Label(area), func() {
				for _, c := range planned {
					if c.Area == area {
						at := types.CodeLocation{FileName: c.File, LineNumber: c.Line}
						ginkgo.It(c.ID+" "+c.Says, ginkgo.Label(string(c.Level)), at, func(ctx ginkgo.SpecContext) {
							l.conclude(ctx, c.ID)
						})
					}
				}
			})
		}
	})
}

func areasOf(planned []engine.PlannedCheck) (areas []string) {
	seen := map[string]bool{}
	for _, c := range planned {
		if !seen[c.Area] {
			seen[c.Area] = true
			areas = append(areas, c.Area)
		}
	}
	return areas
}

// A lane runs the selected checks of one revision beside the specs that wait for
// their outcomes.
type lane struct {
	rev    spec.Revision
	parent context.Context // nil for none
	start  func(ctx context.Context) (*engine.Engine, error)
	owned  bool // the engine is of this lane alone, and ends with it

	engine *engine.Engine
	err    error
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   sync.WaitGroup
}

// begin starts the run.
func (l *lane) begin(ctx ginkgo.SpecContext) {
	parent := l.parent
	if parent == nil {
		parent = context.Background()
	}
	l.ctx, l.cancel = context.WithCancelCause(parent)
	stop := context.AfterFunc(ctx, func() { l.cancel(context.Cause(ctx)) })
	defer stop()
	if l.engine, l.err = l.start(l.ctx); l.err != nil {
		return
	}
	selected := selection()
	l.done.Go(func() {
		l.engine.RunRevision(l.ctx, l.rev, selected)
	})
}

// end waits until the run has ended, which it does before its time if the suite was
// interrupted.
func (l *lane) end() {
	if l.engine == nil {
		return
	}
	l.done.Wait()
	if l.owned {
		l.engine.Finish(l.ctx)
	}
	l.cancel(nil)
}

// conclude ends a spec as its check ended.
func (l *lane) conclude(ctx ginkgo.SpecContext, id string) {
	if l.err != nil {
		ginkgo.Fail(l.err.Error())
	}
	stop := context.AfterFunc(ctx, func() { l.cancel(context.Cause(ctx)) })
	defer stop()
	o, ok := l.engine.Wait(l.ctx, id, l.rev)
	switch {
	case !ok:
		ginkgo.Skip("the run has ended")
	case o.Verdict == reports.Fail || o.Verdict == reports.Broken || o.Verdict == reports.Warn && l.strict():
		ginkgo.Fail(suites.Describe(o))
	case o.Verdict == reports.Warn:
		ginkgo.AddReportEntry("warn", suites.Describe(o))
	case o.Verdict != reports.Pass:
		ginkgo.Skip(fmt.Sprintf("%s: %s", o.Verdict, o.Detail+o.Cause))
	}
}

func (l *lane) strict() bool { return l.engine.Options().Strict }
