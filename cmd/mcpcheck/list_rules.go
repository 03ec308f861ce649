package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// A coverageCount counts rules by how they are covered.
type coverageCount struct{ claimed, covered, excused, later, open int }

func (n *coverageCount) add(r catalog.Coverage) {
	switch {
	case r.Covered != "":
		n.covered++
	case r.Excused != "":
		n.excused++
	case r.Later != "":
		n.later++
	case len(r.Checks) > 0:
		n.claimed++
	default:
		n.open++
	}
}

// String returns the four counts, and after a ! the number of rules that have
// neither a check nor an excuse.
func (n coverageCount) String() string {
	switch {
	case n == coverageCount{}:
		return "-"
	case n.open > 0:
		return fmt.Sprintf("%d/%d/%d/%d !%d", n.claimed, n.covered, n.excused, n.later, n.open)
	}
	return fmt.Sprintf("%d/%d/%d/%d", n.claimed, n.covered, n.excused, n.later)
}

// A coverageCell is a cell of the table.
type coverageCell struct {
	area, level string
	revision    spec.Revision
}

const allAreas = "all areas"

// writeCoverage prints the coverage of the rules as a table: a line for each
// area and level, a column for each revision. A MUST NOT counts as a MUST, a
// SHOULD NOT as a SHOULD.
func writeCoverage(w io.Writer, rules []catalog.Coverage) error {
	counts := map[coverageCell]coverageCount{}
	lines := map[coverageCell]bool{} // those with a rule; without revision
	var areas []string
	total := coverageCount{}
	for _, r := range rules {
		level := strings.TrimSuffix(r.Level, " NOT")
		for _, area := range []string{r.Area, allAreas} {
			cell := coverageCell{area, level, r.Revision}
			n := counts[cell]
			n.add(r)
			counts[cell] = n
			lines[coverageCell{area: area, level: level}] = true
		}
		if len(areas) == 0 || areas[len(areas)-1] != r.Area {
			areas = append(areas, r.Area)
		}
		total.add(r)
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprint(t, "AREA\tLEVEL")
	for _, rev := range spec.Revisions() {
		fmt.Fprintf(t, "\t%s", rev)
	}
	fmt.Fprintln(t)
	for _, area := range append(areas, allAreas) {
		name := area
		for _, level := range []string{"MUST", "SHOULD", "MAY", "ROBUST"} {
			if !lines[coverageCell{area: area, level: level}] {
				continue
			}
			fmt.Fprintf(t, "%s\t%s", name, level)
			for _, rev := range spec.Revisions() {
				fmt.Fprintf(t, "\t%s", counts[coverageCell{area, level, rev}])
			}
			fmt.Fprintln(t)
			name = "" // on the first line of the area only
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
Each cell: claimed by a check / covered by the check of another rule / excused / not tested yet.
%d rules counted per revision: %d claimed, %d covered, %d excused, %d later, %d open.
mcpcheck list --rules --json lists every rule; mcpcheck explain RULE explains one.
`, len(rules), total.claimed, total.covered, total.excused, total.later, total.open)
	return err
}
