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

// Unproven names every check that no fault or violation catches, every row
// that a check claims without a fault or violation that breaks it and is
// caught by that check, and every fault that is not of the form it should be.
// Names of checks are looked up in all of them, proofs asked for those of
// checks.
func Unproven(checks, all []check.Check, faults []fault.Fault, violations []fixtures.Violation, ledger *fixtures.Ledger) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	known := map[string]bool{}
	claims := map[string]bool{}
	for _, c := range all {
		known[c.ID] = true
		claims[c.ID] = len(c.Rules) > 0
	}
	caught := map[string]bool{} // checks
	broken := map[string]bool{} // check and row
	for _, f := range faults {
		for _, id := range named(f) {
			if !known[id] {
				say("fault %s names %s, which is no check", f.Name, id)
			}
		}
		if len(f.Also) > 3 {
			say("fault %s sets off %d checks besides the one: it is two faults, or the checks overlap", f.Name, len(f.Also))
		}
		robust := len(f.CaughtBy) > 0 && !claims[f.CaughtBy[0]]
		if len(f.CaughtBy) == 0 || len(f.Breaks) == 0 && !robust || f.In == 0 {
			say("fault %s does not say what it breaks, where, and what catches it", f.Name)
		}
		for id, why := range f.Also {
			if why == "" {
				say("fault %s gives no reason for %s", f.Name, id)
			}
		}
		for _, row := range f.Breaks {
			if !stated(ledger, row, f.In) {
				say("fault %s breaks %s, which its revisions do not state", f.Name, row)
			}
		}
		note(f.CaughtBy, f.Breaks, caught, broken)
	}
	for _, v := range violations {
		for _, row := range v.Breaks {
			if _, ok := ledger.Rows[row]; !ok {
				say("violations/%s breaks %s, which is no row", v.File, row)
			}
		}
		note([]string{v.Check}, v.Breaks, caught, broken)
	}
	for _, c := range checks {
		if !caught[c.ID] {
			say("check %s is in no CaughtBy and has no violation file", c.ID)
			continue
		}
		for _, row := range c.Rules {
			if !broken[c.ID+" "+row] {
				say("check %s claims %s, but no fault or violation that it catches breaks that row", c.ID, row)
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

func note(checks, rows []string, caught, broken map[string]bool) {
	for _, id := range checks {
		caught[id] = true
		for _, row := range rows {
			broken[id+" "+row] = true
		}
	}
}

func stated(l *fixtures.Ledger, row string, in spec.Set) bool {
	for _, rev := range in.Revisions() {
		if _, ok := l.Rows[row].At(rev); ok {
			return true
		}
	}
	return false
}

// named returns the checks that a fault says must object.
func named(f fault.Fault) []string {
	return slices.Concat(f.CaughtBy, slices.Sorted(maps.Keys(f.Also)))
}
