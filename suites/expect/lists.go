package expect

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// The probes of tools, prompts and resources call these: their pages state the same
// rules for lists.

// OfferedIsDeclared judges that a server which lists something declares the
// capability for it. It requests the lists whether the capability is declared or not.
func OfferedIsDeclared(t *check.T, lists ...offer.List) {
	if !t.Capabilities().IsObject() {
		t.NotObserved("the result of the opening has no object capabilities",
			"give an object capabilities in the result of the opening")
	}
	capability, broke := lists[0].Capability, ""
	for _, l := range lists {
		w := offer.WalkOnce(t, l)
		if n := len(w.Items()); n > 0 && !t.Declares(capability) {
			t.Mark(w.Pages[0].Answer)
			t.Fail("the capability "+capability, "capabilities "+wire.Clip(t.Capabilities().Raw, 200),
				"%s returns %d entries, but the server does not declare the capability %s", l.Method, n, capability)
		}
		if len(w.Pages) == 0 && broke == "" {
			broke = l.Method + " was answered with " + w.Failure
		} else if len(w.Pages) > 0 && t.Declares(capability) {
			t.Saw()
			return
		}
	}
	if !t.Declares(capability) {
		t.NotApplicable("the server has no " + capability)
	}
	t.NotObserved("the server declares "+capability+", but "+broke, "answer "+lists[0].Method+" with a result")
}

// ListAnswered judges that a list request is answered with a result. Judges judge the
// members of the result, and another check a request without any answer.
func ListAnswered(t *check.T, l offer.List) {
	w := offer.WalkOnce(t, l)
	switch {
	case len(w.Pages) > 0 || w.Last.Message.Kind == wire.Result:
		t.Saw()
		return
	case w.Last.Raw == nil:
		t.NotObserved(l.Method+" was not answered", "answer "+l.Method)
	}
	t.Mark(w.Last)
	t.Fail("a result", w.Failure, "%s was answered with %s", l.Method, w.Failure)
}

// ListSucceeds judges that the first page of a list is a result. It does not judge an
// unknown method or a missing answer, which lifecycle.capabilities.served judges.
func ListSucceeds(t *check.T, l offer.List) {
	w := offer.WalkOnce(t, l)
	m := w.Last.Message
	if len(w.Pages) == 0 && m.Kind == wire.Error {
		m = t.Try(l.Method, nil).Message // an error may be of the moment
	}
	code, isError := m.ErrorCode()
	switch {
	case len(w.Pages) > 0 || m.Kind == wire.Result:
		t.Saw()
	case isError && code != spec.MethodNotFound && !IsRefusedByHTTP(w.Last):
		t.Fail("a result", m.Summary(), "%s was answered twice with an error", l.Method)
	}
}

// IsRefusedByHTTP reports whether an error is about the HTTP request, by its status or
// its code, and not about what the message asks for.
func IsRefusedByHTTP(e wire.Entry) bool {
	code, _ := e.Message.ErrorCode()
	return code == spec.HeaderMismatch || e.HTTP != nil && e.HTTP.Status >= 400
}

// listTwice holds the names of a list before and after requests that only read.
type listTwice struct{ before, after []string }

// isStable reports whether the list had the same entries both times.
func (l listTwice) isStable() bool { return offer.EqualNames(l.before, l.after) }

// readListsTwice reads every list of a connection, and each again after the others
// were read. It leaves out a list that could not be read to its end.
func readListsTwice(t *check.T) map[string]listTwice {
	firsts := map[string]*offer.Walk{}
	for _, l := range offer.Lists(t) {
		firsts[l.Method] = offer.WalkNow(t, l)
	}
	t.Try(t.Facts.BarrierMethod, nil)
	out := map[string]listTwice{}
	for _, l := range offer.Lists(t) {
		first, again := firsts[l.Method], offer.WalkNow(t, l)
		if first.IsComplete() && again.IsComplete() {
			out[l.Method] = listTwice{l.Names(first.Items()), l.Names(again.Items())}
		}
	}
	return out
}

var otherListsKey = check.NewKey[map[string]listTwice]("lists of another connection")

// otherLists returns the lists of another connection, which is opened once for all
// checks that compare them.
func otherLists(t *check.T, connection string) map[string]listTwice {
	return check.Once(t, otherListsKey.For(connection), func() map[string]listTwice {
		other := t.Sessions().Another()
		defer other.Sessions().CloseLater()
		return readListsTwice(other)
	})
}

// ListedEverywhere judges that three connections list the same entries. A list may
// change with time: a difference between the first two connections counts only if the
// second lists the same set twice and a third lists another one. Between the lists
// only requests are sent that change nothing.
func ListedEverywhere(t *check.T, l offer.List) {
	here := offer.WalkOnce(t, l)
	second, ok := otherLists(t, "second")[l.Method]
	if !here.IsComplete() || !ok {
		t.NotObserved(l.Method+" could not be read to its end", "answer each page of "+l.Method+" with a result")
	}
	if second.isStable() && offer.EqualNames(second.before, l.Names(here.Items())) {
		if len(second.before) == 0 {
			t.NotObserved(l.Method+" returns no entries", "offer "+l.Member)
		}
		t.Saw()
		return
	}
	third, ok := otherLists(t, "third")[l.Method]
	if !ok {
		t.NotObserved(l.Method+" could not be read to its end", "answer each page of "+l.Method+" with a result")
	}
	switch {
	case !second.isStable() && offer.EqualNames(second.before, third.before) &&
		offer.EqualNames(second.after, third.after):
		t.Fail(strings.Join(second.before, " "), strings.Join(second.after, " "),
			"after requests that only read, %s returns another set of entries; it does so on another connection too",
			l.Method)
	case second.isStable() && third.isStable() && !offer.EqualNames(second.before, third.before):
		t.Fail(strings.Join(second.before, " "), strings.Join(third.before, " "),
			"%s returns different sets of entries on two connections that were opened one after the other", l.Method)
	}
	t.NotObserved("the entries of "+l.Method+" changed during the run", "keep "+l.Member+" the same during the run")
}
