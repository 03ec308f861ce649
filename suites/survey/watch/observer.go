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
	Sent   bool       // a notification told of it
}

// An Observer looks at what the server offers between one call and the next,
// for changes that it should tell of.
type Observer struct {
	t        *check.T
	W        *Watch
	At       int // the last frame of the last look
	lists    map[string]*offer.Walk
	contents map[string]wire.Entry // of the resources that are watched
	silent   map[string]bool       // kinds of which a change was waited for in vain
	reading  time.Duration         // spent on reading resources
}

// Observe begins to watch all that the server tells of; nil where it tells of
// nothing.
func Observe(t *check.T) *Observer {
	if !DeclaresChanges(t) {
		return nil
	}
	f := Filter{Lists: []string{"tools", "prompts", "resources"}}
	if DeclaresUpdates(t) {
		f.Uris = ListedURIs(t)
	}
	o := &Observer{t: t, W: Start(t, f), silent: map[string]bool{}}
	if !o.W.Open {
		return nil
	}
	o.look()
	return o
}

func contentOf(e wire.Entry) string { return e.Message.Result().Get("contents").Raw }

// sameList tells whether two walks show the same entries, or show too little to
// tell.
func sameList(a, b *offer.Walk) bool {
	return !a.Whole() || !b.Whole() || offer.SameNames(a.Names(a.Items()), b.Names(b.Items()))
}
