package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A listing says which checks are listed, and how.
type listing struct {
	json, rules bool
	specs       []string
	level       string
}

func listCommand() *cobra.Command {
	var l listing
	cmd := &cobra.Command{
		Use:   "list [GLOB]...",
		Short: "List the checks by area, or the rules that they test",
		Example: "  mcpcheck list tools 'streamable-http.session*'\n  mcpcheck list --spec latest --level must\n" +
			"  mcpcheck list --rules --json",
		RunE: func(cmd *cobra.Command, globs []string) error {
			out := cmd.OutOrStdout()
			if l.rules {
				if len(globs) > 0 || len(l.specs) > 0 || l.level != "" {
					return errors.New("list --rules lists all rules: it takes neither a glob nor --spec nor --level")
				}
				return listRules(out, l.json)
			}
			checks, err := l.choose(globs)
			if err != nil {
				return err
			}
			return listChecks(out, checks, l.json)
		},
	}
	s := cmd.Flags()
	s.BoolVar(&l.json, "json", false, "print JSON, format 1")
	s.BoolVar(&l.rules, "rules", false,
		"count the rules of the ledger by how they are covered; with --json, list each of them")
	s.StringSliceVar(&l.specs, "spec", nil, "list the checks of these `revisions` only, or of the latest one")
	s.StringVar(&l.level, "level", "", "list the checks of this `level` only: must, should or robust")
	completeFlag(cmd, "spec", specNames)
	completeFlag(cmd, "level", func() []string { return []string{"must", "should", "robust"} })
	return cmd
}

// choose returns the checks that match a glob, if there is any, and the flags.
func (l listing) choose(globs []string) ([]check.Check, error) {
	level := spec.Level(strings.ToUpper(l.level))
	if l.level != "" && !slices.Contains([]spec.Level{spec.Must, spec.Should, spec.Robust}, level) {
		return nil, fmt.Errorf("--level must be must, should or robust, not %q", l.level)
	}
	revisions, err := revisionsNamed(l.specs)
	if err != nil {
		return nil, err
	}
	checks, err := catalog.Select(catalog.Checks(), globs, nil)
	if err != nil {
		return nil, explainUnmatched(err)
	}
	return slices.DeleteFunc(checks, func(c check.Check) bool {
		return l.level != "" && c.Level != level || !slices.ContainsFunc(revisions, c.In.Has)
	}), nil
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

func listChecks(w io.Writer, checks []check.Check, asJSON bool) error {
	if asJSON {
		listed := make([]listedCheck, len(checks))
		for i, c := range checks {
			listed[i] = listCheck(c)
		}
		return writeJSON(w, map[string]any{"format": 1, "checks": listed})
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, area := range areasOf(checks) {
		fmt.Fprintf(t, "%s (%d)\n", area.name, len(area.checks))
		for _, c := range area.checks {
			says := c.Says
			if c.Profile != "" {
				says += " (--profile " + c.Profile + ")"
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", c.ID, c.Level, formatRevisions(c.In), says)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(checks) == 1 {
		fmt.Fprintln(w, "1 check")
		return nil
	}
	fmt.Fprintf(w, "%d checks\n", len(checks))
	return nil
}

// An area is the checks whose ids begin with one word.
type area struct {
	name   string
	checks []check.Check
}

// areasOf groups checks by area, in the order of the first check of each.
func areasOf(checks []check.Check) []area {
	var all []area
	for _, c := range checks {
		name, _, _ := strings.Cut(c.ID, ".")
		i := slices.IndexFunc(all, func(a area) bool { return a.name == name })
		if i < 0 {
			i = len(all)
			all = append(all, area{name: name})
		}
		all[i].checks = append(all[i].checks, c)
	}
	return all
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
