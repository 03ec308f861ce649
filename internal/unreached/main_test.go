package main

import (
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// mostUnreached is how long the list may be: lower it with the list.
const mostUnreached = 25

// The list may only shrink, and names calls that are there.
func TestListOnlyShrinks(t *testing.T) {
	text, err := os.ReadFile("unreached.tsv")
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(listed) != mostUnreached {
		t.Errorf("%d calls are listed, want %d", len(listed), mostUnreached)
	}
	t.Chdir("../..")
	found, err := failCalls("suites")
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, c := range found {
		calls = append(calls, c.text)
	}
	for _, gone := range missing(listed, calls) {
		t.Errorf("no call is %s", gone)
	}
}

func TestFindsCallsThatNoTestRuns(t *testing.T) {
	files := readProfile(`mode: set
example.org/m/suites/a/a.go:10.20,20.3 3 1
example.org/m/suites/a/a.go:12.10,14.4 1 0
example.org/m/suites/a/a.go:30.1,31.2 1 0
example.org/m/suites/a/a.go:30.1,31.2 1 1
`)
	call := func(line int, text string) failCall {
		return failCall{token.Position{Filename: "suites/a/a.go", Line: line, Column: 11}, text}
	}
	got := unreached([]failCall{
		call(11, "run"), call(13, "not run"), call(13, "not run"), call(30, "run by another test"),
		call(40, "in no block"),
	}, files)
	if want := []string{"in no block", "not run"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if further := missing(got, []string{"not run", "run"}); !slices.Equal(further, []string{"in no block"}) {
		t.Errorf("further calls: %q", further)
	}
}
