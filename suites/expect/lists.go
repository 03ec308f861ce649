package expect

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// What is due for a list of tools, prompts and resources alike: the probes of
// their pages call these.

// OfferedIsDeclared asks for the lists of a capability whether it is declared or
// not: that something is listed is what shows that the server supports it.
func OfferedIsDeclared(t *check.T, lists ...offer.List) {
	if !t.Capabilities().IsObject() {
		t.NotObserved("the server's opening holds no capabilities object", "")
	}
	capability, broke := lists[0].Capability, ""
	for _, l := range lists {
		w := offer.Walked(t, l)
		if n := len(w.Items()); n > 0 && !t.Declares(capability) {
			t.Mark(w.Pages[0].Answer)
			t.Fail("the capability "+capability, "capabilities "+wire.Clip(t.Capabilities().Raw, 200), "%s lists %d, but the server does not declare the capability %s", l.Method, n, capability)
		}
		if len(w.Pages) == 0 && broke == "" {
			broke = l.Method + " gave " + w.Broke
		} else if len(w.Pages) > 0 && t.Declares(capability) {
			return
		}
	}
	if !t.Declares(capability) {
		t.NotApplicable("the server has no " + capability)
	}
	t.NotObserved(capability+" is declared, but "+broke, "")
}

// ListAnswered leaves the members of a result to the judges, and a request
// without any answer to the check of all lists.
func ListAnswered(t *check.T, l offer.List) {
	w := offer.Walked(t, l)
	switch {
	case len(w.Pages) > 0 || w.Last.Message.Kind == wire.Result:
		return
	case w.Last.Raw == nil:
		t.NotObserved(l.Method+" was not answered", "")
	}
	t.Mark(w.Last)
	t.Fail("a result", w.Broke, "%s was answered with %s", l.Method, w.Broke)
}

// around is the names of a list before and after requests that only read.
type around struct{ before, after []string }

// listsOn reads every list of a connection, and each again after the others
// were read. A list that could not be read to its end is left out.
func listsOn(t *check.T) map[string]around {
	firsts := map[string]*offer.Walk{}
	for _, l := range offer.Lists(t) {
		firsts[l.Method] = offer.WalkNow(t, l)
	}
	t.Try(t.Facts.Barrier, nil)
	out := map[string]around{}
	for _, l := range offer.Lists(t) {
		first, again := firsts[l.Method], offer.WalkNow(t, l)
		if first.Whole() && again.Whole() {
			out[l.Method] = around{l.Names(first.Items()), l.Names(again.Items())}
		}
	}
	return out
}

var listsOfAKey = check.NewKey[map[string]around]("lists of a")

// elsewhere returns the lists of another connection, which is opened once for
// all that compare them.
func elsewhere(t *check.T, which string) map[string]around {
	return check.Once(t, listsOfAKey.For(which+" connection"), func() map[string]around {
		other := t.Sessions().Another()
		defer other.Sessions().Leave()
		return listsOn(other)
	})
}

// ListedEverywhere compares what three connections list. The set may change
// with time, so that a difference between the first two counts only if the
// second keeps to its own set and a third differs from it too. Between lists
// only requests are sent that change nothing.
func ListedEverywhere(t *check.T, l offer.List) {
	here := offer.Walked(t, l)
	second, ok := elsewhere(t, "second")[l.Method]
	if !here.Whole() || !ok {
		t.NotObserved(l.Method+" could not be read to its end", "")
	}
	if offer.SameNames(second.before, second.after) && offer.SameNames(second.before, l.Names(here.Items())) {
		return
	}
	third, ok := elsewhere(t, "third")[l.Method]
	if !ok {
		t.NotObserved(l.Method+" could not be read to its end", "")
	}
	switch {
	case !offer.SameNames(second.before, second.after) && offer.SameNames(second.before, third.before) && offer.SameNames(second.after, third.after):
		t.Fail(strings.Join(second.before, " "), strings.Join(second.after, " "), "after requests that only read, %s lists something else; likewise on another connection", l.Method)
	case offer.SameNames(second.before, second.after) && offer.SameNames(third.before, third.after) && !offer.SameNames(second.before, third.before):
		t.Fail(strings.Join(second.before, " "), strings.Join(third.before, " "), "two connections that send %s one after the other are told of different sets", l.Method)
	}
	t.Note("what %s lists changed once during the run", l.Method)
}
