package suites

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Unmoved are the areas of the ledger whose rows are not yet all claimed or
// excused. It shrinks to nothing as the areas are built.
var Unmoved = []string{"authorization", "headers", "http-sse", "streamable-http"}

// A Coverage is a rule at one revision and what becomes of it: exactly one of
// Checks, Excused and Later is set, unless nothing is decided yet.
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
	Excused    string        `json:"excused,omitempty"`
	Later      string        `json:"later,omitempty"`

	// By role: what the line above sums up, for rules that bind both ends.
	server, client bool
}

// Open tells whether a rule that binds servers is neither claimed nor excused.
func (c Coverage) Open() bool { return len(c.Checks) == 0 && c.Excused == "" && c.Later == "" }

// Cover returns every rule of the ledger at every revision that states it,
// sorted by area, id and revision.
func Cover(l *fixtures.Ledger, checks []check.Check) []Coverage {
	type key struct {
		id  string
		rev spec.Revision
	}
	claims := map[key][]check.Check{}
	for _, c := range checks {
		for _, id := range c.Rules {
			for _, rev := range c.In.Revisions() {
				claims[key{id, rev}] = append(claims[key{id, rev}], c)
			}
		}
	}
	var out []Coverage
	for _, id := range l.IDs() {
		for _, rev := range spec.Revisions() {
			i, ok := l.Rows[id].At(rev)
			if !ok {
				continue
			}
			c := Coverage{ID: id, Area: l.Rows[id].Area, Revision: rev, Level: i.Level, Section: i.Section, Subject: i.Subject, Observable: i.Observable}
			for _, by := range claims[key{id, rev}] {
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
		why := e.Why
		if e.Kind == fixtures.ExcuseCovered {
			why = fmt.Sprintf("covered by %s: %s", e.Covers, why)
		}
		if e.Kind == fixtures.ExcuseLater {
			c.Later = why
		} else {
			c.Excused = why
		}
		return
	}
	switch {
	case !i.Binds("server"):
		c.Later = "clients are judged in width in a later step"
	case slices.Contains(Unmoved, c.Area) && c.client:
		// the half of servers is not built yet
	case slices.Contains(Unmoved, c.Area):
		c.Later = "the area is not built yet"
	case c.client:
		c.Checks = nil // only the half of clients is claimed: the rule is open
	}
}

// Audit returns what is wrong between checks and ledger: a level that differs
// from a row's, a row that does not exist, a rule that nobody claims.
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
	return wrong
}
