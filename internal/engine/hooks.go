package engine

import "github.com/mcpcheck/mcpcheck/internal/spec"

// The hooks of package suites: its Target and Option are opaque, so that no internal
// type is part of the public API; by these functions ginkgosuite and the command line
// reach the engine behind them. They are set when suites is initialized.
var (
	// OfTarget returns an engine for a suites.Target and a []suites.Option, restricted
	// to one revision if rev is not "".
	OfTarget func(target any, options any, client bool, rev spec.Revision) (*Engine, error)
	// AsTarget returns a suites.Target whose engine is e, already opened.
	AsTarget func(e *Engine) any
	// Opened returns the engine of a suites.Target that AsTarget made, or nil.
	Opened func(target any) *Engine
)

// Planned returns the checks that are stated at a revision, in the order in which
// they are listed.
func (e *Engine) Planned(rev spec.Revision) []PlannedCheck {
	var out []PlannedCheck
	for _, c := range e.o.Checks {
		if c.In.Has(rev) {
			file, line := Location(c)
			out = append(out, PlannedCheck{
				ID: c.ID, Area: c.Area(), Says: c.Says, Level: c.Level, File: file, Line: line,
			})
		}
	}
	return out
}

// A PlannedCheck is a check as test trees show it.
type PlannedCheck struct {
	ID, Area, Says string
	Level          spec.Level
	File           string
	Line           int
}

// AskedFor returns the revisions that the options ask for.
func (e *Engine) AskedFor() []spec.Revision { return e.o.Revisions }
