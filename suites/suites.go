// Package suites judges servers and clients of the Model Context Protocol, in a go
// test file or in any program:
//
//	func TestConformance(t *testing.T) {
//		suites.Test(t, suites.InProcess(serve))
//	}
//
// Test and TestClient report a subtest for each revision, area and check. Run and
// RunClient return the report. For a Ginkgo suite see package ginkgosuite.
//
// The package installs no signal handler, changes no global state and never exits.
package suites

import (
	"context"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
)

// Revision is a revision of the protocol, such as "2025-11-25".
type Revision = spec.Revision

// The published revisions.
const (
	V2024_11_05 = spec.V2024_11_05
	V2025_03_26 = spec.V2025_03_26
	V2025_06_18 = spec.V2025_06_18
	V2025_11_25 = spec.V2025_11_25
	V2026_07_28 = spec.V2026_07_28
)

// Level is the level of a check: MUST, SHOULD or ROBUST.
type Level = spec.Level

// The levels. A broken Must fails; a broken Should or Robust warns.
const (
	Must   = spec.Must
	Should = spec.Should
	Robust = spec.Robust
)

// Frame is a message as it was on the wire, in the frames of an outcome.
type Frame = wire.Frame

// Result is the report of a run: the revisions that the target speaks, an outcome for
// each check and revision, and totals.
type Result = reports.Run

// Outcome is the verdict of one check at one revision.
type Outcome = reports.Outcome

// Run judges a server. It returns the report also if ctx ends before the run does; an
// error says that the target or an option is invalid, or that the server could not be
// started or reached.
func Run(ctx context.Context, target Target, options ...Option) (*Result, error) {
	e, err := newEngine(target, options, false, "")
	if err != nil {
		return nil, err
	}
	return e.Judge(ctx)
}

// RunClient judges a client: it runs the client once against each of the scripted
// servers. It returns the report also if ctx ends before the run does; an error says
// that the target or an option is invalid, or that the client could not be started or
// never connected.
func RunClient(ctx context.Context, target Target, options ...Option) (*Result, error) {
	e, err := newEngine(target, options, true, "")
	if err != nil {
		return nil, err
	}
	return e.Judge(ctx)
}
