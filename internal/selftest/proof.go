package selftest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Unproven returns what is wrong with the proofs of checks, sorted: a check
// that no fault and no violation catches, a row that a check claims and no
// proof breaks, and a fault that is not well formed.
//
// A fault without Breaks proves the checks that catch it and no row of theirs.
// A check that such a fault proves needs no proof row by row.
//
// The ids that faults name are looked up in all; proofs are required of checks.
func Unproven(
	checks, all []check.Check, faults []fault.Fault, violations []fixtures.Violation, ledger *fixtures.Ledger,
) []string {
	p := &proofs{
		known: map[string]check.Check{}, ledger: ledger,
		caught: map[string]bool{}, derived: map[string]bool{}, broken: map[claim]bool{},
	}
	for _, c := range all {
		p.known[c.ID] = c
	}
	for _, f := range faults {
		p.addFault(f)
	}
	for _, v := range violations {
		p.addViolation(v)
	}
	for _, c := range checks {
		p.require(c)
	}
	slices.Sort(p.wrong)
	return p.wrong
}

// A claim is a row of the ledger that a check claims.
type claim struct{ check, row string }

// proofs collects what faults and violations prove.
type proofs struct {
	known   map[string]check.Check
	ledger  *fixtures.Ledger
	caught  map[string]bool // checks that a fault or violation proves
	derived map[string]bool // those of them that a fault without Breaks proves
	broken  map[claim]bool
	wrong   []string
}

func (p *proofs) report(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

func (p *proofs) addFault(f fault.Fault) {
	for _, id := range named(f) {
		if _, ok := p.known[id]; !ok {
			p.report("fault %s names %s, which is no check", f.Name, id)
		}
	}
	if len(f.Also) > 3 {
		p.report("fault %s also fails %d other checks: it is two faults, or the checks overlap", f.Name, len(f.Also))
	}
	for id, why := range f.Also {
		if why == "" {
			p.report("fault %s gives no reason for %s", f.Name, id)
		}
	}
	in := f.Revisions(func(id string) spec.Set { return p.known[id].In })
	if len(f.CaughtBy) == 0 || in == 0 {
		p.report("fault %s does not name the check that catches it, or a revision", f.Name)
	}
	for _, row := range f.Breaks {
		if !isStated(p.ledger, row, in) {
			p.report("fault %s breaks %s, which its revisions do not state", f.Name, row)
		}
	}
	for _, id := range f.CaughtBy {
		p.caught[id] = true
		p.derived[id] = p.derived[id] || len(f.Breaks) == 0
		for _, row := range f.Breaks {
			p.broken[claim{id, row}] = true
		}
	}
}

func (p *proofs) addViolation(v fixtures.Violation) {
	p.caught[v.Check] = true
	for _, row := range v.Breaks {
		if _, ok := p.ledger.Rows[row]; !ok {
			p.report("violations/%s breaks %s, which is no row", v.File, row)
		}
		p.broken[claim{v.Check, row}] = true
	}
}

// require reports what a check lacks a proof of.
func (p *proofs) require(c check.Check) {
	if !p.caught[c.ID] {
		p.report("check %s is in no CaughtBy and has no violation file", c.ID)
	}
	if !p.caught[c.ID] || p.derived[c.ID] {
		return
	}
	for _, row := range c.Rules {
		if !p.broken[claim{c.ID, row}] {
			p.report("check %s claims %s, but no fault or violation that it catches breaks that row", c.ID, row)
		}
	}
}

// isStated reports whether one of the revisions states a row.
func isStated(l *fixtures.Ledger, row string, in spec.Set) bool {
	return slices.ContainsFunc(in.Revisions(), func(rev spec.Revision) bool {
		_, ok := l.Rows[row].At(rev)
		return ok
	})
}

// named returns the checks that must fail on a fault.
func named(f fault.Fault) []string {
	return slices.Concat(f.CaughtBy, slices.Sorted(maps.Keys(f.Also)))
}
