package server

import (
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// What is due for a list of tools, prompts and resources alike: the probes of
// their pages call these.

// offeredDeclared asks for the lists of a capability whether it is declared or
// not: that something is listed is what shows that the server supports it.
func offeredDeclared(t *check.T, lists ...listing) {
	if !t.Capabilities().IsObject() {
		t.NotObserved("the server's opening holds no capabilities object", "")
	}
	capability, broke := lists[0].capability, ""
	for _, l := range lists {
		w := walked(t, l)
		if n := len(w.items()); n > 0 && !t.Declares(capability) {
			t.Mark(w.pages[0].answer)
			t.Fail("the capability "+capability, "capabilities "+wire.Clip(t.Capabilities().Raw, 200), "%s lists %d, but the server does not declare the capability %s", l.method, n, capability)
		}
		if len(w.pages) == 0 && broke == "" {
			broke = l.method + " gave " + w.broke
		} else if len(w.pages) > 0 && t.Declares(capability) {
			return
		}
	}
	if !t.Declares(capability) {
		t.NotApplicable("the server has no " + capability)
	}
	t.NotObserved(capability+" is declared, but "+broke, "")
}

// listAnswered leaves the members of a result to the judges, and a request
// without any answer to the check of all lists.
func listAnswered(t *check.T, l listing) {
	w := walked(t, l)
	switch {
	case len(w.pages) > 0 || w.last.Message.Kind == wire.Result:
		return
	case w.last.Raw == nil:
		t.NotObserved(l.method+" was not answered", "")
	}
	t.Mark(w.last)
	t.Fail("a result", w.broke, "%s was answered with %s", l.method, w.broke)
}

// around is the names of a list before and after requests that only read.
type around struct{ before, after []string }

// listsOn reads every list of a connection, and each again after the others
// were read. A list that could not be read to its end is left out.
func listsOn(t *check.T) map[string]around {
	firsts := map[string]*walk{}
	for _, l := range listings(t) {
		firsts[l.method] = walkNow(t, l)
	}
	_, _ = t.TryFrame(t.Facts.Barrier, nil)
	out := map[string]around{}
	for _, l := range listings(t) {
		first, again := firsts[l.method], walkNow(t, l)
		if first.whole() && again.whole() {
			out[l.method] = around{l.names(first.items()), l.names(again.items())}
		}
	}
	return out
}

// elsewhere returns the lists of another connection, which is opened once for
// all that compare them.
func elsewhere(t *check.T, which string) map[string]around {
	return check.Memo(t, "lists of a "+which+" connection", func() map[string]around {
		other := t.Another(false)
		defer other.Leave()
		return listsOn(other)
	})
}

// listedEverywhere compares what three connections list. The set may change
// with time, so that a difference between the first two counts only if the
// second keeps to its own set and a third differs from it too. Between lists
// only requests are sent that change nothing.
func listedEverywhere(t *check.T, l listing) {
	here := walked(t, l)
	second, ok := elsewhere(t, "second")[l.method]
	if !here.whole() || !ok {
		t.NotObserved(l.method+" could not be read to its end", "")
	}
	if sameSet(second.before, second.after) && sameSet(second.before, l.names(here.items())) {
		return
	}
	third, ok := elsewhere(t, "third")[l.method]
	if !ok {
		t.NotObserved(l.method+" could not be read to its end", "")
	}
	switch {
	case !sameSet(second.before, second.after) && sameSet(second.before, third.before) && sameSet(second.after, third.after):
		t.Fail(strings.Join(second.before, " "), strings.Join(second.after, " "), "after requests that only read, %s lists something else; likewise on another connection", l.method)
	case sameSet(second.before, second.after) && sameSet(third.before, third.after) && !sameSet(second.before, third.before):
		t.Fail(strings.Join(second.before, " "), strings.Join(third.before, " "), "two connections that send %s one after the other are told of different sets", l.method)
	}
	t.Note("what %s lists changed once during the run", l.method)
}

// allowHint tells which flag would allow more calls.
func allowHint(held []string) string {
	if len(held) == 0 {
		return ""
	}
	what := "the tool that was not called, since it does not say that it only reads"
	if len(held) > 1 {
		what = fmt.Sprintf("the %d tools that were not called, since they do not say that they only read", len(held))
	}
	return fmt.Sprintf("--allow-tools %s, for %s", wire.Clip(strings.Join(held, ","), 200), what)
}
