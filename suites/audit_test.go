package suites

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
	for _, wrong := range Audit(l, All()) {
		t.Error(wrong)
	}
}

// The audit itself is tried on lists that are wrong in one way each.
func TestAuditNamesWhatIsWrong(t *testing.T) {
	l, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	good := All()[0]
	for name, c := range map[string]struct {
		want string
		edit func()
	}{
		"level":    {"is a SHOULD, but", func() { good.Level = spec.Should }},
		"row":      {"which is no row", func() { good.Rules = []string{"no-such-row"} }},
		"revision": {"none of its rows is stated", func() { good.Rules = []string{"jsonrpc-utf8"}; good.In = spec.Every }},
		"subject":  {"judges the server, but", func() { good.Rules = []string{"jsonrpc-request-id-required"}; good.In = spec.Stateless }},
	} {
		keep := good
		c.edit()
		checks := slices.Clone(All())
		checks[0] = good
		good = keep
		if wrong := strings.Join(Audit(l, checks), "\n"); !strings.Contains(wrong, c.want) {
			t.Errorf("%s: the audit says %q", name, wrong)
		}
	}
	twice := append(All(), good)
	if wrong := strings.Join(Audit(l, twice), "\n"); !strings.Contains(wrong, "two checks have the id "+good.ID) {
		t.Errorf("the audit does not see an id twice: %q", wrong)
	}
}

func TestEveryRuleIsSummedUpOnce(t *testing.T) {
	l, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Cover(l, All()) {
		n := 0
		for _, set := range []bool{len(c.Checks) > 0, c.Excused != "", c.Later != ""} {
			if set {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s at %s has %d of checks, excused and later", c.ID, c.Revision, n)
		}
	}
}
