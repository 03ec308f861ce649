package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// readTable returns the rows of a TSV file: lines that are empty or begin with #
// are none. Each row has at least the given number of columns.
func readTable(path string, columns int) ([][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out [][]string
	for i, row := range strings.Split(string(text), "\n") {
		if strings.TrimSpace(row) == "" || strings.HasPrefix(row, "#") {
			continue
		}
		cells := strings.Split(row, "\t")
		for k, cell := range cells {
			cells[k] = strings.TrimSpace(cell)
		}
		if len(cells) < columns {
			return nil, fmt.Errorf("%s:%d: %d columns separated by tabs, want %d", path, i+1, len(cells), columns)
		}
		out = append(out, cells)
	}
	return out, nil
}

// renames maps each renamed id, old or new, to the name that the ids it belongs
// to have in a comparison: the new id, or all new ids joined by + where an id was
// split.
type renames map[string]string

// readRenames reads pairs of an old and a new id. A missing file is a table
// without rows.
func readRenames(path string) (renames, error) {
	rows, err := readTable(path, 2)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	family := map[string][]string{} // each id to all that renames connect it with
	isOld, isKept := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		from, to := row[0], row[1]
		if to == "" || to == "-" {
			continue // the check was removed: it is reported as missing
		}
		isOld[from] = true
		isKept[from] = isKept[from] || from == to // one of the new ids of a split
		all := slices.Concat(family[from], family[to], []string{from, to})
		slices.Sort(all)
		all = slices.Compact(all)
		for _, id := range all {
			family[id] = all
		}
	}
	out := renames{}
	for id, all := range family {
		latest := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return isOld[id] && !isKept[id] })
		out[id] = strings.Join(latest, "+")
	}
	return out, nil
}

func (r renames) current(id string) string { return cmp.Or(r[id], id) }

// An allowance is a change that does not count.
type allowance struct {
	id, revision, target, reason string
	values                       []string // the change is between two of these
}

// readAllowances reads the columns id, revision, target and reason. The first
// three may be patterns such as *. A fifth column names the values that the
// change may be between, with spaces; without it only pass -> not-observed is
// allowed.
func readAllowances(paths string, ids renames) ([]allowance, error) {
	var out []allowance
	for file := range strings.SplitSeq(paths, ",") {
		if file == "" {
			continue
		}
		rows, err := readTable(file, 4)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			a := allowance{id: ids.current(row[0]), revision: row[1], target: row[2], reason: row[3]}
			for _, pattern := range row[:3] {
				if _, err := path.Match(pattern, ""); err != nil {
					return nil, fmt.Errorf("%s: %q: %w", file, pattern, err)
				}
			}
			if len(row) > 4 {
				a.values = strings.Fields(row[4])
			}
			out = append(out, a)
		}
	}
	return out, nil
}

func (a allowance) covers(c change) bool {
	for pattern, text := range map[string]string{a.id: c.ID, a.revision: c.Revision, a.target: c.target} {
		if matched, _ := path.Match(pattern, text); !matched {
			return false
		}
	}
	if len(a.values) == 0 {
		return c.from == "pass" && c.to == "not-observed"
	}
	return slices.Contains(a.values, c.from) && slices.Contains(a.values, c.to)
}
