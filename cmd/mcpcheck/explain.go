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
		Use:   "explain CHECK-OR-RULE-OR-AREA",
		Short: "Explain a check or a rule: its requirement, its clauses, and what tests it",
		Long: "Explain a check or a rule: its requirement, its clauses, and what tests it.\n\n" +
			"For an area, list its checks. For a scenario of the public conformance suite, name the checks that\n" +
			"test the same.",
		Example: "  mcpcheck explain jsonrpc.method.unknown\n  mcpcheck explain tools",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("explain needs the id of one check or rule, not %d arguments, for example: "+
					"mcpcheck explain jsonrpc.method.unknown", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return append(explainable(), areaNames()...), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return explain(cmd.OutOrStdout(), args[0]) },
	}
}

// explain prints what is known of a check, a rule or a scenario of the public
// conformance suite.
func explain(w io.Writer, name string) error {
	l, err := fixtures.ReadLedger()
	if err != nil {
		return exitError{exitBroken, err}
	}
	for _, c := range catalog.Checks() {
		if c.ID == name {
			explainCheck(w, l, c)
			return explainOfficial(w, c)
		}
	}
	if row, ok := l.Rows[name]; ok {
		explainRule(w, l, row)
		return nil
	}
	known, err := explainScenario(w, name)
	if err != nil {
		return err
	}
	if checks, err := catalog.Select(catalog.Checks(), []string{name}, nil); err == nil {
		return listChecks(w, checks, false)
	}
	if known {
		return nil
	}
	return fmt.Errorf("%q is neither a check nor a rule nor an area; %s", name,
		suggest(name, append(explainable(), areaNames()...), checksHint))
}

// explainable returns the names of all checks and rules.
func explainable() []string {
	out := checkNames()
	if l, err := fixtures.ReadLedger(); err == nil {
		out = append(out, l.IDs()...)
	}
	return out
}

// areaNames returns the names of all areas.
func areaNames() []string {
	var out []string
	for _, a := range areasOf(catalog.Checks()) {
		out = append(out, a.name)
	}
	return out
}

func explainCheck(w io.Writer, l *fixtures.Ledger, c check.Check) {
	effect := "a violation warns"
	if c.Level == spec.Must {
		effect = "a violation fails"
	}
	fmt.Fprintf(w, "%s\n  %s\n\n", c.ID, c.Says)
	fmt.Fprintf(w, "Level      %s: %s\n", c.Level, effect)
	fmt.Fprintf(w, "Tests      the %s\n", c.Of)
	fmt.Fprintf(w, "Revisions  %s\n", formatRevisions(c.In))
	fmt.Fprintf(w, "Transports %s\n", strings.Join(transportNames(c), ", "))
	if c.Needs != "" {
		fmt.Fprintf(w, "Needs      the capability %s\n", c.Needs)
	}
	if c.Profile != "" {
		fmt.Fprintf(w, "Profile    %s: run with --profile %s, against a target that offers its fixtures\n",
			c.Profile, c.Profile)
	}
	fmt.Fprintf(w, "Body       %s\n", engine.Where(c))
	for _, id := range c.Rules {
		fmt.Fprintln(w)
		explainClauses(w, l.Rows[id], c.In)
	}
	explainRelatedClause(w, c)
}

// explainRelatedClause prints the section that a Robust check without rules
// refers to, at each revision.
func explainRelatedClause(w io.Writer, c check.Check) {
	head := "\nNo clause requires it; see " + c.Spec + "\n"
	for _, rev := range c.In.Revisions() {
		if clause := engine.RelatedClause(c, rev); clause != nil {
			fmt.Fprintf(w, "%s    %s  %s\n", head, rev, clause.URL)
			head = ""
		}
	}
}

// explainOfficial names the checks of the public conformance suite that test the
// same.
func explainOfficial(w io.Writer, c check.Check) error {
	official, err := fixtures.ReadOfficial()
	if err != nil {
		return exitError{exitBroken, err}
	}
	head := "\nIn the public conformance suite\n"
	for _, other := range official {
		if slices.Contains(other.Ours, c.ID) {
			fmt.Fprintf(w, "%s  %s (%s)\n", head, other.Name(), formatRevisions(other.In()))
			head = ""
		}
	}
	return nil
}

// explainScenario prints which checks test the same as a scenario of the public
// conformance suite, or as one check of it. It reports whether there is such a
// scenario.
func explainScenario(w io.Writer, name string) (known bool, err error) {
	official, err := fixtures.ReadOfficial()
	if err != nil {
		return false, exitError{exitBroken, err}
	}
	for _, c := range official {
		if name != c.Scenario && name != c.Name() {
			continue
		}
		text := "tested by " + strings.Join(c.Ours, ", ")
		if c.Why != "" {
			text = "not tested: " + c.Why
		}
		fmt.Fprintf(w, "%s (%s)\n  %s\n", c.Name(), formatRevisions(c.In()), text)
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
		text := "claimed by " + strings.Join(c.Checks, ", ")
		switch {
		case c.Later != "":
			text = "not tested yet: " + c.Later
		case c.Excused != "":
			text = "excused: " + c.Excused
		case c.Covered != "":
			text = fmt.Sprintf("covered by %s (tested by %s): %s", c.Covered, strings.Join(c.JudgedBy, ", "), c.Why)
		}
		fmt.Fprintf(w, "  %s  %s\n", c.Revision, text)
	}
}

// explainClauses prints a row: each wording once, with the revisions that have
// it and the address of each clause.
func explainClauses(w io.Writer, row fixtures.Row, in spec.Set) {
	fmt.Fprintf(w, "Rule %s\n", row.ID)
	var printed []string
	for _, rev := range in.Revisions() {
		i, ok := row.At(rev)
		if !ok {
			continue
		}
		if !slices.Contains(printed, i.Text) {
			printed = append(printed, i.Text)
			fmt.Fprintf(w, "  %s\n", i.Text)
		}
		fmt.Fprintf(w, "    %s  %-10s %s\n", rev, i.Level, i.URL(rev))
	}
	if row.Note != "" {
		fmt.Fprintf(w, "  Note: %s\n", row.Note)
	}
}

// checksHint is the hint for an id that is similar to none.
const checksHint = "mcpcheck list shows the checks"
