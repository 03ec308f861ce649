package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/selftest"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// differs begins the output if a difference was found.
const differs = "differs: "

// findDifference runs the faults of the checks in some files or packages, and the
// reference without a fault, and prints the first difference from what is expected. It
// runs in the binary that is built with the mutants.
func findDifference(ctx context.Context, places []string, brief bool) error {
	var ids []string
	for _, c := range catalog.Checks() {
		where, _, _ := strings.Cut(engine.Where(c), ":")
		dir := where[:strings.LastIndex(where, "/")]
		if slices.Contains(places, where) || slices.Contains(places, dir) {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := selftest.FirstDifference(ctx, ids, brief, selftest.Workers())
	if err != nil {
		return err
	}
	if found != "" {
		fmt.Println(differs + found)
	}
	return nil
}
