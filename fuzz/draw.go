package fuzz

import (
	"math/bits"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// maxSteps bounds the frames of a plan; more than stride would share ids.
const maxSteps = 4

// A generator draws plans from the decks of the revisions under test.
type generator struct {
	revs  []spec.Revision
	decks map[spec.Revision]*Deck
	plan  *rapid.Generator[Plan]
}

func newGenerator(revs []spec.Revision, decks map[spec.Revision]*Deck) *generator {
	g := &generator{revs: revs, decks: decks}
	steps := map[spec.Revision]*rapid.Generator[[]Step]{}
	how := how
	for rev, d := range decks {
		steps[rev] = rapid.SliceOfN(d.step(), 1, maxSteps)
		if d.Posted {
			how = howPosted
		}
	}
	revision := evenly(revs)
	g.plan = rapid.Custom(func(t *rapid.T) Plan {
		p := Plan{Rev: revision.Draw(t, "revision")}
		p.Steps = steps[p.Rev].Draw(t, "steps")
		switch how.Draw(t, "how") {
		case "one at a time":
			p.Paced = true
		case "in pieces":
			p.Chunks = rapid.SliceOfN(place, 1, 3).Draw(t, "places")
		case "without opening":
			p.Bare = true
		case "odd answers":
			p.Answer = []Edit{answerEdit(t)}
		}
		return p
	})
	return g
}

var (
	how = weighted("at once", 60, "one at a time", 28, "in pieces", 8, "without opening", 2, "odd answers", 2)
	// A body has no places at which its bytes are framed anew.
	howPosted = weighted("at once", 64, "one at a time", 32, "without opening", 2, "odd answers", 2)

	place = evenly(upTo(1000))
	count = rapid.IntRange(0, 3)
	kinds = weighted("tree", 62, "bytes", 16, "both", 4, "nothing", 12, "malformed", 6)
	edits = weighted("", 70, "and", 20, "and another", 10)

	treeOps = weighted(opSet, 20, opDrop, 16, opAdd, 10, opMeta, 8, opDuplicate, 8, opID, 14, opReuse, 3, opMethod, 6, opCursor, 7, opRename, 4, opRespell, 4)
	byteOps = weighted(opCut, 10, opBlank, 8, opCRLF, 8, opJoin, 6, opInsert, 20, opPrefix, 6, opSuffix, 6, opErase, 10, opFlip, 12)

	valueNames  = evenly(oftenSmall(values))
	idNames     = evenly(oftenSmall(ids))
	cursorNames = evenly(oftenSmall(cursors))
	methodNames = evenly(methods)
	memberNames = evenly(names)
	insertNames = evenly(func() []string {
		var out []string
		for _, i := range insertions {
			out = append(out, i.name)
		}
		return out
	}())
)

// weighted draws one of the words as often as the number behind it tells.
func weighted(pairs ...any) *rapid.Generator[string] {
	var words []string
	for i := 0; i < len(pairs); i += 2 {
		for range pairs[i+1].(int) {
			words = append(words, pairs[i].(string))
		}
	}
	return evenly(words)
}

var coin = rapid.Bool()

// evenly draws each element as often as any other. rapid.SampledFrom prefers
// the first ones, which makes for small examples but would starve the methods
// whose names come late.
func evenly[T any](list []T) *rapid.Generator[T] {
	width := bits.Len(uint(len(list))) + 3
	return rapid.Custom(func(t *rapid.T) T {
		n := 0
		for range width {
			n <<= 1
			if coin.Draw(t, "bit") {
				n |= 1
			}
		}
		return list[n*len(list)>>width]
	})
}

// oftenSmall names the values, small ones as often as large ones are seldom:
// what is large costs a hundred times as much to send and to read.
func oftenSmall(list []value) []string {
	var out []string
	for _, v := range list {
		times := 6
		if len(v.raw(1)) > 4000 {
			times = 1
		}
		for range times {
			out = append(out, v.name)
		}
	}
	return out
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// step draws one frame of the deck and what is done to it.
func (d *Deck) step() *rapid.Generator[Step] {
	bad := evenly(d.Bad)
	var methods []string
	byMethod := map[string][]*Card{}
	var lists []*Card
	for i := range d.Cards {
		c := &d.Cards[i]
		if byMethod[c.method] == nil {
			methods = append(methods, c.method)
		}
		byMethod[c.method] = append(byMethod[c.method], c)
		if c.list {
			lists = append(lists, c)
		}
	}
	// A second initialize costs the session, since it may have changed anything.
	for _, m := range slices.Clone(methods) {
		if m != "initialize" {
			methods = append(methods, m, m, m)
		}
	}
	method := evenly(methods)
	cards := map[string]*rapid.Generator[*Card]{}
	for m, of := range byMethod {
		cards[m] = evenly(of)
	}
	return rapid.Custom(func(t *rapid.T) Step {
		kind := kinds.Draw(t, "kind")
		if kind == "malformed" {
			return Step{Card: bad.Draw(t, "malformed").Name}
		}
		// By method first: no method is starved by the variants of another.
		c := cards[method.Draw(t, "method")].Draw(t, "card")
		s := Step{}
		if kind == "tree" || kind == "both" {
			for range 1 + len(strings.Fields(edits.Draw(t, "edits"))) {
				e := c.edit(t)
				if e.Op == opCursor && !c.list {
					c = rapid.SampledFrom(lists).Draw(t, "list")
				}
				s.Edits = append(s.Edits, e)
			}
		}
		if kind == "bytes" || kind == "both" {
			s.Bytes = []Edit{byteEdit(t)}
		}
		s.Card = c.Name
		return s
	})
}

func (c *Card) edit(t *rapid.T) Edit {
	e := Edit{Op: treeOps.Draw(t, "op")}
	pointer := func() string { return evenly(c.pointers).Draw(t, "at") }
	switch e.Op {
	case opDrop, opRespell:
		e.At = pointer()
	case opSet:
		e.At, e.Value = pointer(), valueNames.Draw(t, "value")
	case opDuplicate:
		e.At = pointer()
		if rapid.Bool().Draw(t, "differs") {
			e.Value = valueNames.Draw(t, "value")
		}
	case opRename:
		e.At = pointer()
		if rapid.Bool().Draw(t, "renamed") {
			e.Name = memberNames.Draw(t, "name")
		}
	case opAdd:
		if len(c.objects) > 0 {
			e.At = evenly(c.objects).Draw(t, "at")
		}
		e.Name, e.Value = memberNames.Draw(t, "name"), valueNames.Draw(t, "value")
	case opMeta:
		e.Name, e.Value = memberNames.Draw(t, "name"), valueNames.Draw(t, "value")
	case opID:
		e.Value = idNames.Draw(t, "id")
	case opReuse:
		e.N = count.Draw(t, "step")
	case opMethod:
		e.Name = methodNames.Draw(t, "method")
	case opCursor:
		e.Value = cursorNames.Draw(t, "cursor")
	}
	return e
}

func byteEdit(t *rapid.T) Edit {
	e := Edit{Op: byteOps.Draw(t, "op")}
	switch e.Op {
	case opCut, opFlip, opErase:
		e.N = place.Draw(t, "place")
	case opInsert:
		e.N, e.Value = place.Draw(t, "place"), insertNames.Draw(t, "bytes")
	case opPrefix, opSuffix:
		e.Value = insertNames.Draw(t, "bytes")
	case opBlank:
		e.N = count.Draw(t, "lines")
	}
	return e
}

// answerEdit draws what is done to our answer to a request of the server.
func answerEdit(t *rapid.T) Edit {
	e := Edit{Op: rapid.SampledFrom([]string{opSet, opDrop, opDuplicate}).Draw(t, "op")}
	e.At = rapid.SampledFrom([]string{"/result", "/jsonrpc", "/result/action", "/result/content", "/result/roots", "/result/role", "/result/model", "/id"}).Draw(t, "at")
	if e.Op == opSet {
		e.Value = valueNames.Draw(t, "value")
	}
	return e
}

// seedOf mixes the seed of a run with the number of a plan, so that
// neighbouring runs share no plans (splitmix64). rapid takes 0 for no seed.
func seedOf(run uint64, plan int) uint64 {
	z := run + uint64(plan+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return z>>1 | 1
}
