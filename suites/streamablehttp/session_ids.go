package streamablehttp

import (
	"math"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// How many session ids are compared: few if these show enough variety, which further ids
// can only increase, and otherwise many at one revision and some at the others. A server
// that does not let clients end sessions, and would keep all of them, opens some at most.
const (
	manySessions, someSessions, fewSessions = 200, 20, 10

	manySessionsOpened = check.Trait("session ids")
)

// Bits that the ids must be able to vary in to count as unguessable: half of those of
// a random UUID, and less where not many are compared, which cannot show more.
const (
	bitsOfMany = 60
	bitsOfSome = 30
)

// concurrentOpenings is how many sessions are opened at once.
const concurrentOpenings = 5

// collectSessionIDs opens sessions, a few at a time, and returns their ids.
func collectSessionIDs(t *check.T) []string {
	b := openIdentifiedSession(t)
	want := someSessions
	if b.End() && !check.HasTrait(t, manySessionsOpened) {
		want = manySessions
	}
	ids := []string{t.HTTP().SessionID(), b.ID}
	for len(ids) < fewSessions || len(ids) < want && variety(ids) < bitsOfMany {
		next, why := openSessionIDs(t, min(concurrentOpenings, want-len(ids)))
		ids = append(ids, next...)
		if why != "" {
			t.Note("the %dth session could not be opened: %s", len(ids)+1, why)
			break
		}
	}
	if len(ids) >= manySessions {
		check.SetTrait(t, manySessionsOpened)
	}
	return ids
}

// openSessionIDs opens n sessions, ends them and returns their ids, and why one could
// not be opened.
func openSessionIDs(t *check.T, n int) (ids []string, why string) {
	var opening, ending []check.Posting
	for range n {
		edits := []check.Edit{check.Without(posting.SessionField), check.Without(posting.VersionField)}
		opening = append(opening, check.Posting{Raw: posting.InitializeFrame(t), Edits: edits})
	}
	for _, x := range t.HTTP().Together(opening) {
		switch {
		case x == nil:
			why = "initialize was not answered"
		case x.Header.Get(posting.SessionField) == "":
			why = check.Describe(x)
		default:
			id := x.Header.Get(posting.SessionField)
			ids = append(ids, id)
			edits := (&posting.RawSession{T: t, ID: id}).Edits()
			ending = append(ending, check.Posting{Method: http.MethodDelete, Edits: edits})
		}
	}
	t.HTTP().Together(ending)
	return ids, why
}

// expectDistinct fails the check if two sessions have the same id.
func expectDistinct(t *check.T, ids []string) {
	first := map[string]int{}
	for i, id := range ids {
		if at, ok := first[id]; ok {
			t.Fail("an id of its own for each session", wire.Clip(id, 80), "sessions %d and %d have the same id", at+1,
				i+1)
		}
		first[id] = i
	}
}

// expectUnguessable fails the check unless the ids can vary in enough bits.
func expectUnguessable(t *check.T, ids []string) {
	least := float64(bitsOfSome)
	if len(ids) >= manySessions {
		least = bitsOfMany
	}
	if bits := variety(ids); bits < least {
		last, before := ids[len(ids)-1], ids[len(ids)-2]
		t.Fail("ids that cannot be guessed", wire.Clip(last, 80),
			"the ids of %d sessions vary in at most %.0f bits, such as %q and %q",
			len(ids), bits, wire.Clip(before, 80), wire.Clip(last, 80))
	}
}

// variety returns the base 2 logarithm of the number of texts that have at each place
// a character that one of these has there. The end of a text counts as a character.
func variety(ids []string) float64 {
	longest := 0
	for _, id := range ids {
		longest = max(longest, len(id))
	}
	bits := 0.0
	for i := range longest {
		seen := map[int]bool{}
		for _, id := range ids {
			if i < len(id) {
				seen[int(id[i])] = true
			} else {
				seen[-1] = true
			}
		}
		bits += math.Log2(float64(len(seen)))
	}
	return bits
}
