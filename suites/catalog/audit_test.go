package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestChecksAndLedgerAgree(t *testing.T) {
	l, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range Audit(l, Checks()) {
		t.Error(wrong)
	}
}

// Each list of checks has one error.
func TestAuditReportsErrors(t *testing.T) {
	l, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	good := Checks()[0]
	for name, c := range map[string]struct {
		want string
		edit func()
	}{
		"level": {"is a SHOULD, but", func() { good.Level = spec.Should }},
		"row":   {"which is no row", func() { good.Rules = []string{"no-such-row"} }},
		"revision": {"none of its rows is stated", func() {
			good.Rules = []string{"jsonrpc-utf8"}
			good.In = spec.Every
		}},
		"subject": {"judges the server, but", func() {
			good.Rules = []string{"jsonrpc-request-id-required"}
			good.In = spec.Stateless
		}},
	} {
		keep := good
		c.edit()
		checks := slices.Clone(Checks())
		checks[0] = good
		good = keep
		if wrong := strings.Join(Audit(l, checks), "\n"); !strings.Contains(wrong, c.want) {
			t.Errorf("%s: the audit reports %q", name, wrong)
		}
	}
	twice := append(Checks(), good)
	if wrong := strings.Join(Audit(l, twice), "\n"); !strings.Contains(wrong, "two checks have the id "+good.ID) {
		t.Errorf("the audit does not report a duplicate id: %q", wrong)
	}
}

func TestCoverCountsEveryRuleOnce(t *testing.T) {
	l, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Cover(l, Checks()) {
		n := 0
		for _, set := range []bool{len(c.Checks) > 0, c.Covered != "", c.Excused != "", c.Later != ""} {
			if set {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s at %s has %d of checks, cover, excuse and later, want one", c.ID, c.Revision, n)
		}
		if covered := c.Covered != ""; covered != (len(c.JudgedBy) > 0) || covered != (c.Why != "") {
			t.Errorf("%s at %s is covered by %q, judged by %q, because of %q", c.ID, c.Revision, c.Covered, c.JudgedBy,
				c.Why)
		}
	}
}

// A cover excuses a rule only if a check claims the cover.
func TestAuditReportsInvalidCovers(t *testing.T) {
	l, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	all := Checks()
	const unclaimed, ofOtherRevisions = "which no check of the server claims", "which is not of that revision"
	const rule = "completion-max-100-docs"
	for name, c := range map[string]struct {
		in       spec.Set
		by       string
		revision spec.Revision
		wrong    string // the error that the audit reports, "" for none
	}{
		"claimed":        {0, "completion-max-100", "", ""},
		"excused":        {0, "elicitation-no-client-creds-reuse", spec.V2025_11_25, unclaimed},
		"itself covered": {0, "progress-increases-schema", spec.V2024_11_05, unclaimed},
		"not stated":     {0, "roots-request-no-required-params-of-old", spec.V2026_07_28, ofOtherRevisions},
		"of clients":     {0, "lifecycle-initialized-notification", spec.V2024_11_05, unclaimed},
		"other revision": {spec.Only(spec.V2025_06_18), "elicitation-url-valid", spec.V2025_06_18, ofOtherRevisions},
	} {
		with := *l
		excuse := fixtures.Excuse{ID: rule, Kind: fixtures.ExcuseCovered, In: c.in, By: c.by}
		with.Excuses = []fixtures.Excuse{excuse}
		wrong := slices.DeleteFunc(Audit(&with, all), func(w string) bool {
			return !strings.Contains(w, "is covered by")
		})
		want := fmt.Sprintf("rule %s at %s is covered by %s, %s", rule, c.revision, c.by, c.wrong)
		if c.wrong == "" && len(wrong) > 0 || c.wrong != "" && !slices.Contains(wrong, want) {
			t.Errorf("%s: the audit reports %q", name, wrong)
		}
	}
}
