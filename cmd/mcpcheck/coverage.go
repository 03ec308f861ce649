package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// A tally counts rules by what becomes of them.
type tally struct{ claimed, covered, excused, later, open int }

func (t *tally) count(r catalog.Coverage) {
	switch {
	case r.Covered != "":
		t.covered++
	case r.Excused != "":
		t.excused++
	case r.Later != "":
		t.later++
	case len(r.Checks) > 0:
		t.claimed++
	default:
		t.open++
	}
}

// String gives the four counts, and a mark with the number of rules of which
// nothing is decided.
func (t tally) String() string {
	switch {
	case t == tally{}:
		return "-"
	case t.open > 0:
		return fmt.Sprintf("%d/%d/%d/%d !%d", t.claimed, t.covered, t.excused, t.later, t.open)
	}
	return fmt.Sprintf("%d/%d/%d/%d", t.claimed, t.covered, t.excused, t.later)
}

// A tallied is a line of the table: an area at a level.
type tallied struct{ area, level string }

// levels are those of the lines, in their order; a MUST NOT counts as a MUST.
func levels() []string { return []string{"MUST", "SHOULD", "MAY", "ROBUST"} }

// writeCoverage prints the coverage of the rules as a table: a line for each
// area and level, a column for each revision.
func writeCoverage(w io.Writer, rules []catalog.Coverage) error {
	counts := map[tallied]map[spec.Revision]*tally{}
	var areas []string
	all := tally{}
	for _, r := range rules {
		level := strings.TrimSuffix(r.Level, " NOT")
		for _, area := range []string{r.Area, "all areas"} {
			line := tallied{area, level}
			if counts[line] == nil {
				counts[line] = map[spec.Revision]*tally{}
			}
			if counts[line][r.Revision] == nil {
				counts[line][r.Revision] = &tally{}
			}
			counts[line][r.Revision].count(r)
		}
		if len(areas) == 0 || areas[len(areas)-1] != r.Area {
			areas = append(areas, r.Area)
		}
		all.count(r)
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprint(t, "AREA\tLEVEL")
	for _, rev := range spec.Revisions() {
		fmt.Fprintf(t, "\t%s", rev)
	}
	fmt.Fprintln(t)
	for _, area := range append(areas, "all areas") {
		name := area
		for _, level := range levels() {
			line := counts[tallied{area, level}]
			if line == nil {
				continue
			}
			fmt.Fprintf(t, "%s\t%s", name, level)
			for _, rev := range spec.Revisions() {
				fmt.Fprintf(t, "\t%s", *cmp.Or(line[rev], &tally{}))
			}
			fmt.Fprintln(t)
			name = "" // said once
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
Each cell: claimed by a check / covered by the check of another rule / excused for good / judged in a later step.
%d rules counted per revision: %d claimed, %d covered, %d excused, %d later, %d open.
mcpcheck list --rules --json tells what becomes of each, mcpcheck explain RULE of one.
`, len(rules), all.claimed, all.covered, all.excused, all.later, all.open)
	return err
}
