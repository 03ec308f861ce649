package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

func explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain CHECK-OR-RULE",
		Short: "Explain a check or a rule: what it asks for, where that is written, how it is seen",
		Long: "Explain a check or a rule: what it asks for, where that is written, how it is seen.\n\n" +
			"For a scenario of the public conformance suite, name the checks that judge the same.",
		Example: "  mcpcheck explain jsonrpc.method.unknown",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return explainable(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := fixtures.ReadLedger()
			if err != nil {
				return exitError{exitBroken, err}
			}
			w := cmd.OutOrStdout()
			for _, c := range catalog.Checks() {
				if c.ID == args[0] {
					explainCheck(w, l, c)
					return explainOfficial(w, c)
				}
			}
			if row, ok := l.Rows[args[0]]; ok {
				explainRule(w, l, row)
				return nil
			}
			if known, err := explainScenario(w, args[0]); known || err != nil {
				return err
			}
			return fmt.Errorf("%q is neither a check nor a rule%s", args[0], nearest(args[0], explainable()))
		},
	}
}

func explainable() []string {
	var out []string
	for _, c := range catalog.Checks() {
		out = append(out, c.ID)
	}
	if l, err := fixtures.ReadLedger(); err == nil {
		out = append(out, l.IDs()...)
	}
	return out
}

func explainCheck(w io.Writer, l *fixtures.Ledger, c check.Check) {
	fmt.Fprintf(w, "%s\n  %s\n\n", c.ID, c.Says)
	fmt.Fprintf(w, "Level      %s: %s\n", c.Level, map[spec.Level]string{spec.Must: "a violation fails", spec.Should: "a violation warns", spec.Robust: "a violation warns"}[c.Level])
	fmt.Fprintf(w, "Judges     the %s\n", c.Of)
	fmt.Fprintf(w, "Revisions  %s\n", span(c.In))
	var on []string
	for _, k := range c.On.Kinds() {
		on = append(on, string(k))
	}
	fmt.Fprintf(w, "Transports %s\n", strings.Join(on, ", "))
	if c.Needs != "" {
		fmt.Fprintf(w, "Needs      the capability %s\n", c.Needs)
	}
	if c.Profile != "" {
		fmt.Fprintf(w, "Profile    %s: run with --profile %s, against a target that offers its fixtures\n", c.Profile, c.Profile)
	}
	fmt.Fprintf(w, "Body       %s\n", engine.Where(c))
	for _, id := range c.Rules {
		fmt.Fprintln(w)
		explainClauses(w, l.Rows[id], c.In)
	}
}

// explainOfficial names what the public conformance suite judges in the same
// way.
func explainOfficial(w io.Writer, c check.Check) error {
	official, err := fixtures.ReadOfficial()
	if err != nil {
		return exitError{exitBroken, err}
	}
	head := "\nIn the public conformance suite\n"
	for _, other := range official {
		if slices.Contains(other.Ours, c.ID) {
			fmt.Fprintf(w, "%s  %s (%s)\n", head, other.Name(), span(other.In()))
			head = ""
		}
	}
	return nil
}

// explainScenario prints what judges as a scenario of the public suite does, or
// one check of it; known is false if there is no such scenario.
func explainScenario(w io.Writer, name string) (known bool, err error) {
	official, err := fixtures.ReadOfficial()
	if err != nil {
		return false, exitError{exitBroken, err}
	}
	for _, c := range official {
		if name != c.Scenario && name != c.Name() {
			continue
		}
		what := "judged by " + strings.Join(c.Ours, ", ")
		if c.Why != "" {
			what = "not judged: " + c.Why
		}
		fmt.Fprintf(w, "%s (%s)\n  %s\n", c.Name(), span(c.In()), what)
		known = true
	}
	return known, nil
}

func explainRule(w io.Writer, l *fixtures.Ledger, row fixtures.Row) {
	explainClauses(w, row, spec.Every)
	fmt.Fprintln(w)
	for _, c := range catalog.Cover(l, catalog.Checks()) {
		if c.ID != row.ID {
			continue
		}
		what := "claimed by " + strings.Join(c.Checks, ", ")
		if c.Covered != "" {
			what = fmt.Sprintf("covered by %s (judged by %s): %s", c.Covered, strings.Join(c.JudgedBy, ", "), c.Why)
		}
		if c.Excused != "" {
			what = "excused: " + c.Excused
		}
		if c.Later != "" {
			what = "later: " + c.Later
		}
		fmt.Fprintf(w, "  %s  %s\n", c.Revision, what)
	}
}

// explainClauses prints a row: each wording once, with the revisions that have
// it and the address of each clause, and the note.
func explainClauses(w io.Writer, row fixtures.Row, in spec.Set) {
	fmt.Fprintf(w, "Rule %s\n", row.ID)
	var said []string
	for _, rev := range in.Revisions() {
		i, ok := row.At(rev)
		if !ok {
			continue
		}
		if !slices.Contains(said, i.Text) {
			said = append(said, i.Text)
			fmt.Fprintf(w, "  %s\n", i.Text)
		}
		fmt.Fprintf(w, "    %s  %-10s %s\n", rev, i.Level, i.URL(rev))
	}
	if row.Note != "" {
		fmt.Fprintf(w, "  Note: %s\n", row.Note)
	}
}

// nearest suggests names that share a part with a name that is unknown.
func nearest(name string, names []string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '-' })
	best, score := "", 0
	for _, n := range names {
		s := 0
		for _, p := range parts {
			if len(p) > 2 && strings.Contains(n, p) {
				s += len(p)
			}
		}
		if s > score {
			best, score = n, s
		}
	}
	if best == "" {
		return " (mcpcheck list shows the checks)"
	}
	return fmt.Sprintf("; did you mean %s?", best)
}
