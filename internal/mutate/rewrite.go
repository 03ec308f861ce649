package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A textOf function returns the text of a range of a file, with the edits in it.
type textOf func(from, to int) string

// An edit replaces a range of a file. What it renders behaves as before unless the mutant
// with the id is in effect, and has the same lines.
type edit struct {
	start, end int
	render     func(id int, text textOf) string
}

// rewrite returns the text of a file with the edits of mutants.
func rewrite(text []byte, mutants []mutant) string {
	sorted := slices.Clone(mutants)
	slices.SortStableFunc(sorted, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.edit.start, b.edit.start), cmp.Compare(b.edit.end, a.edit.end))
	})
	return render(text, sorted, 0, len(text))
}

// render returns a range of a file with the edits in it: outer ones come before those
// within them.
func render(text []byte, sorted []mutant, from, to int) string {
	var out strings.Builder
	at := from
	for i, m := range sorted {
		if m.edit.start < at || m.edit.end > to {
			continue
		}
		out.Write(text[at:m.edit.start])
		out.WriteString(m.edit.render(m.id, func(from, to int) string { return render(text, sorted[i+1:], from, to) }))
		at = m.edit.end
	}
	out.Write(text[at:to])
	return out.String()
}

// helperFile is the name of the file with the functions that edits call.
const helperFile = "zz_mutants.go"

// helpers returns the functions that edits call, for a package.
func helpers(name string) string { return fmt.Sprintf(helperText, name, selection) }

// selection is the environment variable with the ids of the mutants in effect.
const selection = "MCPCHECK_MUTANTS"

const helperText = `package %s

import (
	"os"
	"strconv"
	"strings"
)

var mutantsInEffect = func() map[int]bool {
	ids := map[int]bool{}
	for _, field := range strings.Split(os.Getenv(%q), ",") {
		if id, err := strconv.Atoi(field); err == nil {
			ids[id] = true
		}
	}
	return ids
}()

func mutantIs(id int) bool { return len(mutantsInEffect) > 0 && mutantsInEffect[id] }

func mutantNot(id int, v bool) bool { return v != mutantIs(id) }

func mutantNever(id int, v bool) bool { return v && !mutantIs(id) }

func mutantAnd(id int, x bool, y func() bool) bool {
	if mutantIs(id) {
		return x || y()
	}
	return x && y()
}

func mutantOr(id int, x bool, y func() bool) bool {
	if mutantIs(id) {
		return x && y()
	}
	return x || y()
}

func mutantNext(id, v int) int {
	if mutantIs(id) {
		return v + 1
	}
	return v
}
`
