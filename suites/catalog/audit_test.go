package catalog

import (
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

// The audit itself is tried on lists that are wrong in one way each.
func TestAuditNamesWhatIsWrong(t *testing.T) {
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
			t.Errorf("%s: the audit says %q", name, wrong)
		}
	}
	twice := append(Checks(), good)
	if wrong := strings.Join(Audit(l, twice), "\n"); !strings.Contains(wrong, "two checks have the id "+good.ID) {
		t.Errorf("the audit does not see an id twice: %q", wrong)
	}
}

func TestEveryRuleIsSummedUpOnce(t *testing.T) {
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
			t.Errorf("%s at %s has %d of checks, covered, excused and later", c.ID, c.Revision, n)
		}
		if covered := c.Covered != ""; covered != (len(c.JudgedBy) > 0) || covered != (c.Why != "") {
			t.Errorf("%s at %s is covered by %q, judged by %q, because of %q", c.ID, c.Revision, c.Covered, c.JudgedBy,
				c.Why)
		}
	}
}

// An excuse by a cover is none where the cover is not judged itself.
func TestAuditNamesCoversThatAreNone(t *testing.T) {
	l, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	all := Checks()
	for name, c := range map[string]struct {
		excuse fixtures.Excuse
		want   string
	}{
		"claimed": {fixtures.Excuse{ID: "completion-max-100-docs", By: "completion-max-100"}, ""},
		"excused": {fixtures.Excuse{ID: "completion-max-100-docs", By: "elicitation-no-client-creds-reuse"},
			"rule completion-max-100-docs at 2025-11-25 is covered by elicitation-no-client-creds-reuse, which no check of the server claims"},
		"covered itself": {fixtures.Excuse{ID: "completion-max-100-docs", By: "progress-increases-schema"},
			"rule completion-max-100-docs at 2024-11-05 is covered by progress-increases-schema, which no check of the server claims"},
		"not stated": {fixtures.Excuse{ID: "completion-max-100-docs", By: "roots-request-no-required-params-of-old"},
			"rule completion-max-100-docs at 2026-07-28 is covered by roots-request-no-required-params-of-old, which is not of that revision"},
		"of clients": {fixtures.Excuse{ID: "completion-max-100-docs", By: "lifecycle-initialized-notification"},
			"rule completion-max-100-docs at 2024-11-05 is covered by lifecycle-initialized-notification, which no check of the server claims"},
		"elsewhere": {fixtures.Excuse{
			ID: "completion-max-100-docs", In: spec.Only(spec.V2025_06_18), By: "elicitation-url-valid",
		},
			"rule completion-max-100-docs at 2025-06-18 is covered by elicitation-url-valid, which is not of that revision"},
	} {
		with := *l
		c.excuse.Kind = fixtures.ExcuseCovered
		with.Excuses = []fixtures.Excuse{c.excuse}
		wrong := slices.DeleteFunc(Audit(&with, all), func(w string) bool {
			return !strings.Contains(w, "is covered by")
		})
		if c.want == "" && len(wrong) > 0 || c.want != "" && !slices.Contains(wrong, c.want) {
			t.Errorf("%s: the audit says %q", name, wrong)
		}
	}
}
