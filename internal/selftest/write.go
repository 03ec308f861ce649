package selftest

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// Wrong returns what keeps the matrix from being a proof, sorted.
func (m *Matrix) Wrong() []string {
	var out []string
	on := map[string]transport.Set{}
	for _, c := range catalog.Checks() {
		on[c.ID] = c.On
	}
	for _, v := range m.Variants {
		for _, o := range v.Run.Outcomes {
			// The contract leaves nothing unobserved.
			missed := o.Verdict != reports.Pass && v.Profile != "" && o.Area == catalog.Official && on[o.ID].Has(v.Over)
			if isProblem(o.Verdict) || missed {
				out = append(out, fmt.Sprintf("%s at %s: %s is %s: %s%s", v, o.Revision, o.ID, o.Verdict, o.Detail,
					o.Cause))
			}
		}
	}
	for _, c := range m.Cells {
		out = append(out, c.wrong()...)
	}
	slices.Sort(out)
	return out
}

// wrong returns what keeps the cell from being exact.
func (c Cell) wrong() []string {
	var out []string
	at := fmt.Sprintf("fault %s at %s", c.Fault.Name, c.Revision)
	switch {
	case c.Err != nil:
		out = append(out, fmt.Sprintf("%s: %v", at, c.Err))
	case len(c.Missing) > 0:
		out = append(out, fmt.Sprintf("%s was not caught by %s", at, strings.Join(c.Missing, ", ")))
	}
	for _, o := range c.Failed {
		if slices.Contains(c.Unexpected, o.ID) {
			out = append(out, fmt.Sprintf("%s also fails %s (%s): %s", at, o.ID, o.Verdict, o.Detail))
		}
	}
	return out
}

// Write prints the matrix: a line per fault with the checks that caught it.
func (m *Matrix) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "FAULT\tCAUGHT BY\tREVISIONS\tDEVIATION")
	exact, namedOnly := 0, 0
	for i := 0; i < len(m.Cells); {
		f := m.Cells[i].Fault
		caught := strings.Join(f.CaughtBy, ", ")
		var revisions []string
		for ; i < len(m.Cells) && m.Cells[i].Fault.Name == f.Name; i++ {
			mark := ""
			if m.Cells[i].namedOnly {
				namedOnly++
			}
			if m.Cells[i].Exact() {
				exact++
			} else {
				mark = "!"
			}
			revisions = append(revisions, string(m.Cells[i].Revision)+mark)
		}
		if strings.Contains(strings.Join(revisions, ""), "!") {
			caught = "NOT EXACTLY: " + caught
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.Name, caught, abbreviate(revisions), f.Does)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	verdicts := 0
	for _, v := range m.Variants {
		verdicts += len(v.Run.Outcomes)
	}
	if namedOnly > 0 {
		fmt.Fprintf(w, "\n%d of the runs below were made with the checks alone that the fault names\n", namedOnly)
	}
	_, err := fmt.Fprintf(w, "\n%d of %d runs of a fault at a revision fail exactly the checks that the fault names\n"+
		"%d of them were repeated with longer deadlines; the reference without a fault got %d verdicts; %s\n",
		exact, len(m.Cells), m.Repeated, verdicts, m.Took.Round(time.Millisecond))
	return err
}

// abbreviate returns the revisions as text, "all" for all of them without a mark.
func abbreviate(revisions []string) string {
	text := strings.Join(revisions, " ")
	if len(revisions) == len(spec.Revisions()) && !strings.Contains(text, "!") {
		return "all"
	}
	return text
}
