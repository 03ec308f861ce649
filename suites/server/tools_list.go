package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// toolsListing are the probes of server/tools#capabilities, #listing-tools and
// #list-changed-notification. The shape of what is listed is judged in every
// session.
func toolsListing() []check.Check {
	return []check.Check{
		{
			ID:    "tools.capability.declared",
			Says:  "a server that lists tools declares the capability tools",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"tools-capability-declared"},
			Probe: toolsDeclared,
		},
		{
			ID:    "tools.list.answered",
			Says:  "tools/list is answered with a result",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"tools-list-answered"},
			Probe: toolsListAnswered,
		},
		{
			ID:    "tools.list.order",
			Says:  "the same tools are listed in the same order each time",
			Level: spec.Should,
			In:    spec.Stateless,
			Needs: "tools",
			Rules: []string{"tools-list-deterministic-order"},
			Probe: toolsInOrder,
		},
		{
			ID:    "tools.list.everywhere",
			Says:  "the same tools are listed on every connection, whatever else was asked there",
			Level: spec.Must,
			In:    spec.Stateless,
			Needs: "tools",
			Fresh: true,
			Rules: []string{"tools-list-not-per-connection"},
			Probe: toolsEverywhere,
		},
		{
			ID:    "tools.list-changed.sent",
			Says:  "where the list of tools changes, notifications/tools/list_changed is sent",
			Level: spec.Should,
			In:    spec.Every,
			Needs: "tools.listChanged",
			Rules: []string{"tools-list-changed-notify"},
			Probe: changedSent("tools"),
		},
	}
}

// toolsDeclared asks for tools whether they are declared or not: that they are
// listed is what shows that the server supports them.
func toolsDeclared(t *check.T) {
	if !t.Capabilities().IsObject() {
		t.NotObserved("the server's opening holds no capabilities object", "")
	}
	w := walked(t, toolsList)
	n := len(w.items())
	switch {
	case n > 0 && !t.Declares("tools"):
		t.Mark(w.last)
		t.Fail("the capability tools", "capabilities "+wire.Clip(t.Capabilities().Raw, 200), "the server lists %d tools, but does not declare the capability tools", n)
	case !t.Declares("tools"):
		t.NotApplicable("the server has no tools")
	case len(w.pages) == 0:
		t.NotObserved("tools is declared, but tools/list gave "+w.broke, "")
	}
}

// toolsListAnswered leaves the members of a result to the judges, and a request
// without any answer to the check of all lists.
func toolsListAnswered(t *check.T) {
	w := walked(t, toolsList)
	switch {
	case len(w.pages) > 0 || w.last.Message.Kind == wire.Result:
		return
	case w.last.Raw == nil:
		t.NotObserved("tools/list was not answered", "")
	}
	t.Mark(w.last)
	t.Fail("a result", w.broke, "tools/list was answered with %s", w.broke)
}

// toolsInOrder compares two walks over the same set of tools.
func toolsInOrder(t *check.T) {
	const rounds = 3
	first := walkNow(t, toolsList)
	names := toolsList.names(first.items())
	if !first.whole() || len(names) < 2 {
		t.NotObserved("an order takes two tools", "")
	}
	seen := false
	for range rounds - 1 {
		w := walkNow(t, toolsList)
		again := toolsList.names(w.items())
		if !w.whole() || !sameSet(names, again) {
			continue
		}
		seen = true
		if !slices.Equal(names, again) {
			t.Mark(w.last)
			t.Fail(strings.Join(names, " "), strings.Join(again, " "), "the same %d tools are listed in another order", len(names))
		}
	}
	if !seen {
		t.NotObserved("the set of tools changed between two lists", "")
	}
}

// toolsEverywhere compares what three connections list. The set may change
// with time, so that a difference between the first two counts only if the
// second keeps to its own set and a third differs from it too. Between lists
// only requests are sent that change nothing.
func toolsEverywhere(t *check.T) {
	elsewhere := walked(t, toolsList)
	here := listAround(t)
	if !elsewhere.whole() || here == nil {
		t.NotObserved("tools/list could not be read to its end", "")
	}
	if sameSet(here.before, here.after) && sameSet(here.before, toolsList.names(elsewhere.items())) {
		return
	}
	third := listAround(t.Another(false))
	if third == nil {
		t.NotObserved("tools/list could not be read to its end", "")
	}
	switch {
	case !sameSet(here.before, here.after) && sameSet(here.before, third.before) && sameSet(here.after, third.after):
		t.Fail(strings.Join(here.before, " "), strings.Join(here.after, " "), "after requests that only read, other tools are listed; likewise on another connection")
	case sameSet(here.before, here.after) && sameSet(third.before, third.after) && !sameSet(here.before, third.before):
		t.Fail(strings.Join(here.before, " "), strings.Join(third.before, " "), "two connections that ask for the tools one after the other are told of different ones")
	}
	t.Note("the set of tools changed once during the run")
}

// around is the names of the tools before and after requests that only read.
type around struct{ before, after []string }

func listAround(t *check.T) *around {
	before := walkNow(t, toolsList)
	_, _ = t.TryFrame(t.Facts.Barrier, nil)
	for _, l := range listings(t) {
		if l.method != toolsList.method {
			_, _ = t.TryFrame(l.method, nil)
		}
	}
	after := walkNow(t, toolsList)
	if !before.whole() || !after.whole() {
		return nil
	}
	return &around{toolsList.names(before.items()), toolsList.names(after.items())}
}

// allowHint tells which flag would allow more calls.
func allowHint(held []string) string {
	if len(held) == 0 {
		return ""
	}
	return fmt.Sprintf("%d tools were not called, since they do not say that they only read: --allow-tools %s", len(held), wire.Clip(strings.Join(held, ","), 200))
}
