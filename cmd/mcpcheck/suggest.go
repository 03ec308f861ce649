package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// suggest returns a hint for an unknown name: the known name that is most similar to
// it, or otherwise where the known names are listed.
func suggest(name string, known []string, otherwise string) string {
	if best := similar(name, known); best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return otherwise
}

// similar returns the known name that differs from a name in few letters, else the one
// that shares most of its parts; "" if there is none.
func similar(name string, known []string) string {
	best, least := "", max(1, len(name)/4)+1
	for _, k := range known {
		if d := levenshtein.ComputeDistance(name, k); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return best
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '-' })
	bestScore := 0
	for _, k := range known {
		score := 0
		for _, p := range parts {
			if len(p) > 3 && strings.Contains(k, p) {
				score += len(p)
			}
		}
		if score > bestScore {
			best, bestScore = k, score
		}
	}
	return best
}

// explainUnmatched adds a hint to the error for a glob that matches no check.
func explainUnmatched(err error) error {
	var unmatched *catalog.UnmatchedError
	if !errors.As(err, &unmatched) {
		return err
	}
	var known []string
	for _, id := range checkNames() {
		area, _, _ := strings.Cut(id, ".")
		known = append(known, area, id)
	}
	return fmt.Errorf("%w; %s", err, suggest(strings.TrimSuffix(unmatched.Glob, ".*"), known, checksHint))
}

// explainFlag adds a hint to the error for a flag.
func explainFlag(cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help lists the flags"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if best := similar(unknown.GetSpecifiedName(), known); best != "" {
			hint = fmt.Sprintf("did you mean --%s?", best)
		}
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// errUnknownCommand returns the error for an unknown command.
func errUnknownCommand(root *cobra.Command, name string) error {
	var known []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q; %s", name, suggest(name, known, root.Name()+" --help lists the commands"))
}
