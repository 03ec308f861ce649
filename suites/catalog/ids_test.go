package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// docs/ids.txt lists the ids of all checks. Baselines and scripts of users hold these
// ids, so that an id does not change by accident.
func TestIDsMatchDocumentedList(t *testing.T) {
	var ids []string
	for _, c := range Checks() {
		ids = append(ids, c.ID)
	}
	listed := lines(t, "ids.txt")
	retired := table(t, "retired-ids.tsv")
	for _, wrong := range compareIDs(ids, listed, retired) {
		t.Error(wrong)
	}
	if !slices.IsSorted(listed) {
		t.Error("docs/ids.txt is not sorted: sort it with LC_ALL=C sort")
	}
}

// A server that ends on what no rule requires it to take is charged to the check that sent
// it: the list has the probes that send such messages on purpose.
//
// go test ./suites/catalog -run Malform -update rewrites it: read the bodies of the
// difference.
func TestListsProbesThatMalform(t *testing.T) {
	var ids []string
	for _, c := range Checks() {
		if c.Malforms {
			ids = append(ids, c.ID)
		}
	}
	requireLines(t, "testdata/malforms.txt", ids)
}

// docs/renamed-ids.tsv maps each old id to existing ids.
func TestRenamedIDsNameExistingChecks(t *testing.T) {
	for _, wrong := range checkRenames(table(t, "renamed-ids.tsv"), lines(t, "ids.txt"), table(t, "retired-ids.tsv")) {
		t.Error(wrong)
	}
}

func TestDetectsWrongIDLists(t *testing.T) {
	listed := []string{"ping.a", "ping.b"}
	for name, c := range map[string]struct {
		got  []string
		want string // "" for no error
	}{
		"equal lists": {compareIDs(listed, listed, nil), ""},
		"new check": {
			compareIDs([]string{"ping.a", "ping.b", "ping.c"}, listed, nil), "add ping.c to docs/ids.txt",
		},
		"missing check": {compareIDs([]string{"ping.a"}, listed, nil), "no check has the id ping.b"},
		"retired check": {compareIDs([]string{"ping.a"}, []string{"ping.a"}, [][]string{{"ping.b", "why"}}), ""},
		"unknown id in the list": {
			compareIDs([]string{"ping.a"}, listed, [][]string{{"ping.b", "why"}}), "remove ping.b from",
		},
		"retired id used again": {compareIDs(listed, listed, [][]string{{"ping.b", "why"}}),
			"the id ping.b is retired"},
		"retired id without a reason": {compareIDs([]string{"ping.a"}, []string{"ping.a"}, [][]string{{"ping.b"}}),
			"retired-ids.tsv: ping.b has no reason"},
		"rename": {checkRenames([][]string{{"old", "ping.a"}}, listed, nil), ""},
		"rename, then retired": {
			checkRenames([][]string{{"old", "ping.c"}}, listed, [][]string{{"ping.c", "why"}}), "",
		},
		"rename to an unknown id": {
			checkRenames([][]string{{"old", "ping.c"}}, listed, nil), "no check has the id ping.c",
		},
		"rename of an existing id": {
			checkRenames([][]string{{"ping.b", "ping.a"}}, listed, nil), "ping.b still exists",
		},
		"rename without a new id": {checkRenames([][]string{{"old"}}, listed, nil), "old has no new id"},
	} {
		got := strings.Join(c.got, "\n")
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// compareIDs returns how the ids of the checks differ from the listed ones, and what
// to do about it.
func compareIDs(ids, listed []string, retired [][]string) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	gone := map[string]bool{}
	for _, row := range retired {
		if gone[row[0]] = true; len(row) < 2 || row[1] == "" {
			say("docs/retired-ids.tsv: %s has no reason", row[0])
		}
	}
	for _, id := range ids {
		switch {
		case gone[id]:
			say("the id %s is retired (docs/retired-ids.tsv) and must not be used again: choose another id", id)
		case !slices.Contains(listed, id):
			say("the check %s is new: add %s to docs/ids.txt (sorted); if it replaces another id, "+
				"add a line to docs/renamed-ids.tsv", id, id)
		}
	}
	for _, id := range listed {
		switch {
		case slices.Contains(ids, id):
		case gone[id]:
			say("%s is retired: remove %s from docs/ids.txt", id, id)
		default:
			say("no check has the id %s, which users may have in baselines: keep the id, or remove it from "+
				"docs/ids.txt and add a line with the reason to docs/retired-ids.tsv, or with the new id to "+
				"docs/renamed-ids.tsv", id)
		}
	}
	return wrong
}

// checkRenames returns what is wrong with the rows old id, new id.
func checkRenames(renames [][]string, listed []string, retired [][]string) (wrong []string) {
	exists := func(id string) bool {
		return slices.Contains(listed, id) || slices.ContainsFunc(retired, func(r []string) bool { return r[0] == id })
	}
	for _, row := range renames {
		switch {
		case len(row) != 2 || row[1] == "":
			wrong = append(wrong, fmt.Sprintf("docs/renamed-ids.tsv: %s has no new id", row[0]))
		case !exists(row[1]):
			wrong = append(wrong, fmt.Sprintf("docs/renamed-ids.tsv: no check has the id %s, the new id of %s: "+
				"write the id that it has now, or add it to docs/retired-ids.tsv", row[1], row[0]))
		}
		if slices.Contains(listed, row[0]) {
			wrong = append(wrong, fmt.Sprintf("docs/renamed-ids.tsv: %s still exists: choose another id for the "+
				"check, or remove the line", row[0]))
		}
	}
	return wrong
}

// lines returns the lines of a file in docs without comments.
func lines(t *testing.T, name string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// table returns the rows of a TSV file in docs.
func table(t *testing.T, name string) (out [][]string) {
	t.Helper()
	for _, line := range lines(t, name) {
		out = append(out, strings.Split(line, "\t"))
	}
	return out
}
