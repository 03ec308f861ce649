package watch

import (
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// A Change is what a call did to a list or a resource.
type Change struct {
	Notice            // what changed
	Tool   string     // whose call did it
	Seen   wire.Entry // the answer that shows it
	Sent   bool       // a notification announced it
}

// An Observer compares what the server offers before and after a call, to find changes
// that the server should announce.
type Observer struct {
	t        *check.T
	Watch    *Watch
	At       int // the last frame of the last reading
	lists    map[string]*offer.Walk
	contents map[string]wire.Entry // of the resources that are watched
	missing  map[string]bool       // kinds of change whose notification was missing
	reading  time.Duration         // time spent on resources
}

// Observe begins to watch everything whose changes the server declares; nil if it
// declares nothing.
func Observe(t *check.T) *Observer {
	if !DeclaresChanges(t) {
		return nil
	}
	f := Filter{Lists: []string{"tools", "prompts", "resources"}}
	if DeclaresUpdates(t) {
		f.URIs = ListedURIs(t)
	}
	o := &Observer{t: t, Watch: Start(t, f), missing: map[string]bool{}}
	if !o.Watch.Open {
		return nil
	}
	o.readAll()
	return o
}

// contentOf returns the contents of a read resource.
func contentOf(e wire.Entry) string { return e.Message.Result().Get("contents").Raw }

// mayBeSameList reports whether two walks show the same entries, or one of them is
// incomplete.
func mayBeSameList(a, b *offer.Walk) bool {
	return !a.IsComplete() || !b.IsComplete() || offer.EqualNames(a.Names(a.Items()), b.Names(b.Items()))
}
