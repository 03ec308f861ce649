package tools

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// probesOfLists returns the probes of server/tools#capabilities, #listing-tools and
// #list-changed-notification. Judges judge the shape of the lists of every session.
func probesOfLists() []check.Check {
	return []check.Check{
		{
			ID:    "tools.capability.declared",
			Says:  "a server that lists tools declares the capability tools",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-capability-declared"},
			Idle:  noList,
			Hint:  "offer tools, and answer tools/list",
			Probe: func(t *check.T) { expect.OfferedIsDeclared(t, offer.ToolsList) },
		},
		{
			ID:    "tools.list.answered",
			Says:  "the server answers tools/list with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"tools-list-answered"},
			Idle:  noList,
			Hint:  "offer tools, and answer tools/list",
			Probe: func(t *check.T) { expect.ListAnswered(t, offer.ToolsList) },
		},
		{
			ID:    "tools.list.succeeds",
			Says:  "tools/list does not fail on a server that declares tools: clients begin with it",
			Level: spec.Robust,
			In:    spec.Handshake, // since 2026-07-28 tools.list.answered judges it
			Needs: "tools",
			Spec:  "server/tools#listing-tools",
			Idle:  noList,
			Hint:  "offer tools, and answer tools/list",
			Probe: func(t *check.T) { expect.ListSucceeds(t, offer.ToolsList) },
		},
		{
			ID:    "tools.list.order",
			Says:  "the server lists the same tools in the same order each time",
			Level: spec.Should,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"tools-list-deterministic-order"},
			Idle:  "the set of tools changed between two lists",
			Hint:  "keep the tools the same during the run",
			Probe: func(t *check.T) {
				const rounds = 3
				first := offer.WalkNow(t, offer.ToolsList)
				names := offer.ToolsList.Names(first.Items())
				if !first.IsComplete() || len(names) < 2 {
					t.NotObserved("the server does not list two tools", "offer two tools")
				}
				for range rounds - 1 {
					w := offer.WalkNow(t, offer.ToolsList)
					again := offer.ToolsList.Names(w.Items())
					if !w.IsComplete() || !offer.EqualNames(names, again) {
						continue
					}
					if !slices.Equal(names, again) {
						t.Mark(w.Last)
						t.Fail(strings.Join(names, " "), strings.Join(again, " "),
							"the server lists the same %d tools in another order", len(names))
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "tools.list.everywhere",
			Says:  "the server lists the same tools on every connection, whatever other requests it received there",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"tools-list-not-per-connection"},
			Idle:  noList,
			Hint:  "offer tools, and answer tools/list",
			Probe: func(t *check.T) { expect.ListedEverywhere(t, offer.ToolsList) },
		},
		{
			ID:    "tools.list-changed.sent",
			Says:  "the server sends notifications/tools/list_changed when its list of tools changes",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "tools.listChanged",
			Rules: []string{"tools-list-changed-notify"},
			Idle:  "no call changed the list of tools",
			Hint:  changeTools,
			Probe: func(t *check.T) {
				expect.ChangeSent(t, "tools")
			},
		},
	}
}
