package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/selftest"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// differs begins the last line of the output if a difference was found.
const differs = "differs: "

// Above maxChecks only the faults of the nearest maxNearest checks are run, at one
// revision.
const (
	maxChecks  = 25
	maxNearest = 60
)

// findDifference runs the faults of the checks at some places, and the reference without a
// fault, and prints a line for each run and the first difference from what is expected. It
// runs in the binary that is built with the mutants.
func findDifference(ctx context.Context, places io.Reader) error {
	var ids []string
	for lines := bufio.NewScanner(places); lines.Scan(); {
		found, _ := checksAt(lines.Text())
		for _, id := range found {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	isBrief := len(ids) > maxChecks
	found, err := selftest.FirstDifference(ctx, selftest.Selection{
		IDs: ids[:min(len(ids), maxNearest)], Brief: isBrief, Workers: selftest.Workers(),
		Done: func() { fmt.Println("done") },
	})
	if err != nil {
		return err
	}
	if found != "" {
		fmt.Println(differs + strings.Join(strings.Fields(found), " "))
	}
	return nil
}

var allChecks = sync.OnceValue(catalog.Checks)

// checksAt returns the checks whose body is at a place, FILE:FROM-TO, and whether one of
// them is a judge.
func checksAt(place string) (ids []string, haveJudge bool) {
	file, lines, _ := strings.Cut(place, ":")
	from, to, _ := strings.Cut(lines, "-")
	first, _ := strconv.Atoi(from)
	last, _ := strconv.Atoi(to)
	for _, c := range allChecks() {
		where, text, _ := strings.Cut(engine.Where(c), ":")
		if line, _ := strconv.Atoi(text); where == file && first <= line && line <= last {
			ids = append(ids, c.ID)
			haveJudge = haveJudge || c.Judge != nil
		}
	}
	return ids, haveJudge
}
