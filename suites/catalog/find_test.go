package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// find returns the check with an id.
func find(t *testing.T, id string) check.Check {
	t.Helper()
	all := Checks()
	at := slices.IndexFunc(all, func(c check.Check) bool { return c.ID == id })
	if at < 0 {
		t.Fatalf("no check %s", id)
	}
	return all[at]
}

// judgesOf returns the judges of servers of one area.
func judgesOf(prefix string) []check.Check {
	return slices.DeleteFunc(Judges(), func(c check.Check) bool { return !strings.HasPrefix(c.ID, prefix) })
}
