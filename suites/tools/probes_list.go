package tools

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// listProbes are the probes of server/tools#capabilities, #listing-tools and
// #list-changed-notification. The shape of what is listed is judged in every
// session.
func listProbes() []check.Check {
	return []check.Check{
		{
			ID:    "tools.capability.declared",
			Says:  "a server that lists tools declares the capability tools",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-capability-declared"},
			Probe: func(t *check.T) { expect.OfferedIsDeclared(t, offer.ToolsList) },
		},
		{
			ID:    "tools.list.answered",
			Says:  "tools/list is answered with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"tools-list-answered"},
			Probe: func(t *check.T) { expect.ListAnswered(t, offer.ToolsList) },
		},
		{
			ID:    "tools.list.order",
			Says:  "the same tools are listed in the same order each time",
			Level: spec.Should,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"tools-list-deterministic-order"},
			// toolsInOrder compares two walks over the same set of tools.
			Probe: func(t *check.T) {
				const rounds = 3
				first := offer.WalkNow(t, offer.ToolsList)
				names := offer.ToolsList.Names(first.Items())
				if !first.Whole() || len(names) < 2 {
					t.NotObserved("an order takes two tools", "")
				}
				seen := false
				for range rounds - 1 {
					w := offer.WalkNow(t, offer.ToolsList)
					again := offer.ToolsList.Names(w.Items())
					if !w.Whole() || !offer.SameNames(names, again) {
						continue
					}
					seen = true
					if !slices.Equal(names, again) {
						t.Mark(w.Last)
						t.Fail(strings.Join(names, " "), strings.Join(again, " "), "the same %d tools are listed in another order", len(names))
					}
				}
				if !seen {
					t.NotObserved("the set of tools changed between two lists", "")
				}
			},
		},
		{
			ID:    "tools.list.everywhere",
			Says:  "the same tools are listed on every connection, whatever else was asked there",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"tools-list-not-per-connection"},
			Probe: func(t *check.T) { expect.ListedEverywhere(t, offer.ToolsList) },
		},
		{
			ID:    "tools.list-changed.sent",
			Says:  "where the list of tools changes, notifications/tools/list_changed is sent",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "tools.listChanged",
			Rules: []string{"tools-list-changed-notify"},
			Probe: func(t *check.T) { expect.ChangeSent(t, "tools") },
		},
	}
}
