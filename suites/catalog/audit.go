package catalog

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A Coverage is a rule at one revision and what becomes of it: exactly one of
// Checks, Covered, Excused and Later is set, unless nothing is decided yet.
type Coverage struct {
	ID         string        `json:"id"`
	Area       string        `json:"area"`
	Revision   spec.Revision `json:"revision"`
	Level      string        `json:"level"`
	Section    string        `json:"section"`
	Subject    string        `json:"subject"`
	Observable string        `json:"observable"`
	Transports []string      `json:"transports"`
	Checks     []string      `json:"checks,omitempty"`
	Covered    string        `json:"covered,omitempty"`   // the rule whose checks judge this one
	JudgedBy   []string      `json:"judged_by,omitempty"` // these checks
	Why        string        `json:"why,omitempty"`       // why that rule covers this one
	Excused    string        `json:"excused,omitempty"`
	Later      string        `json:"later,omitempty"`

	// By role: what the line above sums up, for rules that bind both ends.
	server, client bool
}

// Open tells whether a rule that binds servers is neither claimed nor covered
// nor excused.
func (c Coverage) Open() bool {
	return len(c.Checks) == 0 && c.Covered == "" && c.Excused == "" && c.Later == ""
}

// claims are the checks that claim a rule at a revision.
type claims map[stated][]check.Check

type stated struct {
	id  string
	rev spec.Revision
}

func claimsOf(checks []check.Check) claims {
	all := claims{}
	for _, c := range checks {
		for _, id := range c.Rules {
			for _, rev := range c.In.Revisions() {
				all[stated{id, rev}] = append(all[stated{id, rev}], c)
			}
		}
	}
	return all
}

// of returns the checks that claim a rule and judge a side that is bound by i.
func (all claims) of(id string, rev spec.Revision, i fixtures.Instance) []check.Check {
	return slices.DeleteFunc(slices.Clone(all[stated{id, rev}]), func(c check.Check) bool {
		return !i.Binds(string(c.Of))
	})
}

// Cover returns every rule of the ledger at every revision that states it,
// sorted by area, id and revision.
func Cover(l *fixtures.Ledger, checks []check.Check) []Coverage {
	all := claimsOf(checks)
	var out []Coverage
	for _, id := range l.IDs() {
		for _, rev := range spec.Revisions() {
			i, ok := l.Rows[id].At(rev)
			if !ok {
				continue
			}
			c := Coverage{
				ID: id, Area: l.Rows[id].Area, Revision: rev, Level: i.Level, Section: i.Section, Subject: i.Subject,
				Observable: i.Observable,
			}
			for _, by := range all[stated{id, rev}] {
				c.Checks = append(c.Checks, by.ID)
				c.server = c.server || by.Of == wire.Server
				c.client = c.client || by.Of == wire.Client
				for _, k := range by.On.Kinds() {
					if !slices.Contains(c.Transports, string(k)) {
						c.Transports = append(c.Transports, string(k))
					}
				}
			}
			c.excuse(l, rev, i)
			if c.Covered != "" {
				for _, by := range all.of(c.Covered, rev, i) {
					c.JudgedBy = append(c.JudgedBy, by.ID)
				}
			}
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b Coverage) int {
		if a.Area != b.Area {
			return map[bool]int{true: -1, false: 1}[a.Area < b.Area]
		}
		return 0
	})
	return out
}

// excuse fills what becomes of a rule that no check of servers claims.
func (c *Coverage) excuse(l *fixtures.Ledger, rev spec.Revision, i fixtures.Instance) {
	if c.server || c.client && !i.Binds("server") {
		return
	}
	if e, ok := l.Excuse(c.ID, rev); ok {
		if len(c.Checks) > 0 {
			return // a check of clients claims its half
		}
		switch e.Kind {
		case fixtures.ExcuseCovered:
			c.Covered, c.Why = e.By, e.Why
		case fixtures.ExcuseLater:
			c.Later = e.Why
		default:
			c.Excused = e.Why
		}
		return
	}
	switch {
	case !i.Binds("server"):
		c.Later = "clients are judged in width in a later step"
	case c.client:
		c.Checks = nil // only the half of clients is claimed: the rule is open
	}
}

// Audit returns what is wrong between checks and ledger: a level that differs
// from a row's, a row that does not exist, a rule that nobody claims, or that is
// covered by one that nobody claims.
func Audit(l *fixtures.Ledger, checks []check.Check) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	seen := map[string]bool{}
	for _, c := range checks {
		if err := c.Validate(); err != nil {
			say("%v", err)
		}
		if seen[c.ID] {
			say("two checks have the id %s", c.ID)
		}
		seen[c.ID] = true
		for _, id := range c.Rules {
			if _, ok := l.Rows[id]; !ok {
				say("check %s claims %s, which is no row", c.ID, id)
			}
		}
		for _, rev := range c.In.Revisions() {
			stated := len(c.Rules) == 0
			for _, id := range c.Rules {
				i, ok := l.Rows[id].At(rev)
				if !ok {
					continue
				}
				stated = true
				if level, ok := spec.LevelOf(i.Level); !ok || level != c.Level {
					say("check %s is a %s, but %s at %s is a %s", c.ID, c.Level, id, rev, i.Level)
				}
				if !i.Binds(string(c.Of)) {
					say("check %s judges the %s, but %s at %s binds the %s", c.ID, c.Of, id, rev, i.Subject)
				}
			}
			if !stated {
				say("check %s applies to %s, where none of its rows is stated", c.ID, rev)
			}
		}
	}
	for _, c := range Cover(l, checks) {
		if c.Open() {
			say("rule %s (%s) at %s is neither claimed nor excused", c.ID, c.Level, c.Revision)
		}
	}
	return append(wrong, uncovered(l, claimsOf(checks))...)
}

// uncovered names the rules whose cover is none: a row that the revision does
// not state, or that no check of the side claims which the rule binds. A row
// that is excused or covered itself is claimed by none.
func uncovered(l *fixtures.Ledger, all claims) (wrong []string) {
	for _, e := range l.Excuses {
		if e.Kind != fixtures.ExcuseCovered {
			continue
		}
		for _, rev := range spec.Revisions() {
			i, ok := l.Rows[e.ID].At(rev)
			if !ok || !e.At(rev) {
				continue
			}
			role := wire.Server
			if !i.Binds(string(role)) {
				role = wire.Client
			}
			if _, ok := l.Rows[e.By].At(rev); !ok {
				wrong = append(wrong, fmt.Sprintf("rule %s at %s is covered by %s, which is not of that revision", e.ID,
					rev, e.By))
			} else if !slices.ContainsFunc(all.of(e.By, rev, i), func(c check.Check) bool { return c.Of == role }) {
				wrong = append(wrong, fmt.Sprintf("rule %s at %s is covered by %s, which no check of the %s claims",
					e.ID, rev, e.By, role))
			}
		}
	}
	return wrong
}
