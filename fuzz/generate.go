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
	corpora map[spec.Revision]*corpus
	plan  *rapid.Generator[Plan]
}

func newGenerator(revs []spec.Revision, decks map[spec.Revision]*corpus) *generator {
	g := &generator{revs: revs, corpora: decks}
	steps := map[spec.Revision]*rapid.Generator[[]Step]{}
	how := sendingModes
	for rev, d := range decks {
		steps[rev] = rapid.SliceOfN(d.stepGenerator(), 1, maxSteps)
		if d.overHTTP {
			how = httpSendingModes
		}
	}
	revision := uniform(revs)
	g.plan = rapid.Custom(func(t *rapid.T) Plan {
		p := Plan{Rev: revision.Draw(t, "revision")}
		p.Steps = steps[p.Rev].Draw(t, "steps")
		switch how.Draw(t, "how") {
		case "one at a time":
			p.Paced = true
		case "in pieces":
			p.SplitAt = rapid.SliceOfN(position, 1, 3).Draw(t, "places")
		case "without opening":
			p.NoOpening = true
		case "odd answers":
			p.AnswerEdits = []Edit{drawAnswerEdit(t)}
		}
		return p
	})
	return g
}

var (
	sendingModes = weighted("at once", 60, "one at a time", 28, "in pieces", 8, "without opening", 2, "odd answers", 2)
	// A body has no places at which its bytes are framed anew.
	httpSendingModes = weighted("at once", 64, "one at a time", 32, "without opening", 2, "odd answers", 2)

	position = uniform(upTo(1000))
	smallCount = rapid.IntRange(0, 3)
	stepKinds = weighted("tree", 62, "bytes", 16, "both", 4, "nothing", 12, "malformed", 6)
	editCounts = weighted("", 70, "and", 20, "and another", 10)

	treeOps = weighted(opSet, 20, opDrop, 16, opAdd, 10, opMeta, 8, opDuplicate, 8, opID, 14, opReuse, 3, opMethod, 6, opCursor, 7, opRename, 4, opRespell, 4)
	byteOps = weighted(opCut, 10, opBlank, 8, opCRLF, 8, opJoin, 6, opInsert, 20, opPrefix, 6, opSuffix, 6, opErase, 10, opFlip, 12)

	valueNames  = uniform(preferSmall(jsonValues))
	idValueNames     = uniform(preferSmall(idValues))
	cursorNames = uniform(preferSmall(cursorValues))
	methodNames = uniform(unknownMethods)
	memberNames = uniform(unknownMembers)
	insertNames = uniform(func() []string {
		var out []string
		for _, i := range byteInsertions {
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
	return uniform(words)
}

var coin = rapid.Bool()

// evenly draws each element as often as any other. rapid.SampledFrom prefers
// the first ones, which makes for small examples but would starve the methods
// whose names come late.
func uniform[T any](list []T) *rapid.Generator[T] {
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
func preferSmall(list []value) []string {
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
func (d *corpus) stepGenerator() *rapid.Generator[Step] {
	bad := uniform(d.malformed)
	var methods []string
	byMethod := map[string][]*baseFrame{}
	var lists []*baseFrame
	for i := range d.frames {
		c := &d.frames[i]
		if byMethod[c.method] == nil {
			methods = append(methods, c.method)
		}
		byMethod[c.method] = append(byMethod[c.method], c)
		if c.takesCursor {
			lists = append(lists, c)
		}
	}
	// A second initialize costs the session, since it may have changed anything.
	for _, m := range slices.Clone(methods) {
		if m != "initialize" {
			methods = append(methods, m, m, m)
		}
	}
	method := uniform(methods)
	cards := map[string]*rapid.Generator[*baseFrame]{}
	for m, of := range byMethod {
		cards[m] = uniform(of)
	}
	return rapid.Custom(func(t *rapid.T) Step {
		kind := stepKinds.Draw(t, "kind")
		if kind == "malformed" {
			return Step{Frame: bad.Draw(t, "malformed").name}
		}
		// By method first: no method is starved by the variants of another.
		c := cards[method.Draw(t, "method")].Draw(t, "card")
		s := Step{}
		if kind == "tree" || kind == "both" {
			for range 1 + len(strings.Fields(editCounts.Draw(t, "edits"))) {
				e := c.drawEdit(t)
				if e.Op == opCursor && !c.takesCursor {
					c = rapid.SampledFrom(lists).Draw(t, "list")
				}
				s.Edits = append(s.Edits, e)
			}
		}
		if kind == "bytes" || kind == "both" {
			s.ByteEdits = []Edit{drawByteEdit(t)}
		}
		s.Frame = c.name
		return s
	})
}

func (c *baseFrame) drawEdit(t *rapid.T) Edit {
	e := Edit{Op: treeOps.Draw(t, "op")}
	pointer := func() string { return uniform(c.pointers).Draw(t, "at") }
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
			e.At = uniform(c.objects).Draw(t, "at")
		}
		e.Name, e.Value = memberNames.Draw(t, "name"), valueNames.Draw(t, "value")
	case opMeta:
		e.Name, e.Value = memberNames.Draw(t, "name"), valueNames.Draw(t, "value")
	case opID:
		e.Value = idValueNames.Draw(t, "id")
	case opReuse:
		e.N = smallCount.Draw(t, "step")
	case opMethod:
		e.Name = methodNames.Draw(t, "method")
	case opCursor:
		e.Value = cursorNames.Draw(t, "cursor")
	}
	return e
}

func drawByteEdit(t *rapid.T) Edit {
	e := Edit{Op: byteOps.Draw(t, "op")}
	switch e.Op {
	case opCut, opFlip, opErase:
		e.N = position.Draw(t, "place")
	case opInsert:
		e.N, e.Value = position.Draw(t, "place"), insertNames.Draw(t, "bytes")
	case opPrefix, opSuffix:
		e.Value = insertNames.Draw(t, "bytes")
	case opBlank:
		e.N = smallCount.Draw(t, "lines")
	}
	return e
}

// answerEdit draws what is done to our answer to a request of the server.
func drawAnswerEdit(t *rapid.T) Edit {
	e := Edit{Op: rapid.SampledFrom([]string{opSet, opDrop, opDuplicate}).Draw(t, "op")}
	e.At = rapid.SampledFrom([]string{"/result", "/jsonrpc", "/result/action", "/result/content", "/result/roots", "/result/role", "/result/model", "/id"}).Draw(t, "at")
	if e.Op == opSet {
		e.Value = valueNames.Draw(t, "value")
	}
	return e
}

// seedOf mixes the seed of a run with the number of a plan, so that
// neighbouring runs share no plans (splitmix64). rapid takes 0 for no seed.
func planSeed(run uint64, plan int) uint64 {
	z := run + uint64(plan+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return z>>1 | 1
}
