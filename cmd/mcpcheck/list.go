package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

func listCommand() *cobra.Command {
	var asJSON, rules bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the checks, or the rules that they test",
		Example: "  mcpcheck list\n  mcpcheck list --rules --json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("list takes no arguments, such as %q; it prints all checks", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if rules {
				return listRules(out, asJSON)
			}
			return listChecks(out, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, format 1")
	cmd.Flags().BoolVar(&rules, "rules", false,
		"count the rules of the ledger by how they are covered; with --json, list each of them")
	return cmd
}

// listedCheck is a check in list --json.
type listedCheck struct {
	ID         string          `json:"id"`
	Says       string          `json:"says"`
	Level      spec.Level      `json:"level"`
	Revisions  []spec.Revision `json:"revisions"`
	Transports []string        `json:"transports"`
	Needs      string          `json:"needs"`
	Of         string          `json:"of"`
	Rules      []string        `json:"rules"`
	Profile    string          `json:"profile,omitempty"` // whose fixtures it needs
	Where      string          `json:"where"`
}

func listCheck(c check.Check) listedCheck {
	l := listedCheck{
		ID: c.ID, Says: c.Says, Level: c.Level, Revisions: c.In.Revisions(), Transports: transportNames(c),
		Needs: c.Needs, Of: string(c.Of), Rules: c.Rules, Profile: c.Profile, Where: engine.Where(c),
	}
	if l.Rules == nil {
		l.Rules = []string{}
	}
	return l
}

func transportNames(c check.Check) []string {
	var out []string
	for _, k := range c.On.Kinds() {
		out = append(out, string(k))
	}
	return out
}

func listChecks(w io.Writer, asJSON bool) error {
	all := catalog.Checks()
	if asJSON {
		listed := make([]listedCheck, len(all))
		for i, c := range all {
			listed[i] = listCheck(c)
		}
		return writeJSON(w, map[string]any{"format": 1, "checks": listed})
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, c := range all {
		says := c.Says
		if c.Profile != "" {
			says += " (--profile " + c.Profile + ")"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.ID, c.Level, formatRevisions(c.In), says)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d checks\n", len(all))
	return nil
}

func listRules(w io.Writer, asJSON bool) error {
	l, err := fixtures.ReadLedger()
	if err != nil {
		return exitError{exitBroken, err}
	}
	rules := catalog.Cover(l, catalog.Checks())
	if asJSON {
		return writeJSON(w, map[string]any{"format": 1, "rules": rules})
	}
	return writeCoverage(w, rules)
}

// formatRevisions names a set of revisions in few words: "since 2025-06-18".
func formatRevisions(s spec.Set) string {
	all, revisions := spec.Revisions(), s.Revisions()
	switch {
	case s == spec.Every:
		return "all revisions"
	case len(revisions) == 1:
		return string(revisions[0])
	case s == spec.Since(revisions[0]):
		return "since " + string(revisions[0])
	case s == spec.Until(s.Newest()) && revisions[0] == all[0]:
		return "until " + string(s.Newest())
	case s == spec.Between(revisions[0], s.Newest()):
		return string(revisions[0]) + " to " + string(s.Newest())
	}
	return s.String()
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
