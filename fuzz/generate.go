package fuzz

import (
	"math/bits"
	"slices"

	"pgregory.net/rapid"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// maxSteps bounds the frames of a plan. It is less than idsPerPlan, so that two
// plans in one session share no id.
const maxSteps = 4

// A generator draws plans from the corpora of the revisions under test.
type generator struct {
	plan *rapid.Generator[Plan]
}

func newGenerator(revs []spec.Revision, corpora map[spec.Revision]*corpus) *generator {
	steps := map[spec.Revision]*rapid.Generator[[]Step]{}
	modes := sendModes
	for rev, c := range corpora {
		steps[rev] = rapid.SliceOfN(c.stepGenerator(), 1, maxSteps)
		if c.overHTTP {
			modes = sendModesOverHTTP
		}
	}
	revision := uniform(revs)
	return &generator{rapid.Custom(func(t *rapid.T) Plan {
		p := Plan{Rev: revision.Draw(t, "revision")}
		p.Steps = steps[p.Rev].Draw(t, "steps")
		switch modes.Draw(t, "mode") {
		case sendPaced:
			p.Paced = true
		case sendSplit:
			p.SplitAt = rapid.SliceOfN(position, 1, 3).Draw(t, "positions")
		case sendWithoutOpening:
			p.NoOpening = true
		case sendMutatedAnswers:
			p.AnswerEdits = []Edit{drawAnswerEdit(t)}
		}
		return p
	})}
}

// A sendMode is a way in which the steps of a plan are sent.
type sendMode int

const (
	sendAtOnce sendMode = iota
	sendPaced
	sendSplit
	sendWithoutOpening
	sendMutatedAnswers
)

// A stepKind says what is mutated in a frame.
type stepKind int

const (
	mutateTree stepKind = iota
	mutateBytes
	mutateTreeAndBytes
	mutateNothing
	sendMalformed // a frame of the malformed table, as it is
)

var (
	sendModes = weighted(times(60, sendAtOnce), times(28, sendPaced), times(8, sendSplit),
		times(2, sendWithoutOpening), times(2, sendMutatedAnswers))
	// A POST has a body of its own, whose writes the peer does not see.
	sendModesOverHTTP = weighted(times(64, sendAtOnce), times(32, sendPaced),
		times(2, sendWithoutOpening), times(2, sendMutatedAnswers))

	stepKinds = weighted(times(62, mutateTree), times(16, mutateBytes), times(4, mutateTreeAndBytes),
		times(12, mutateNothing), times(6, sendMalformed))
	editCounts = weighted(times(70, 1), times(20, 2), times(10, 3))
	treeOps    = weighted(times(20, opSet), times(16, opDrop), times(10, opAdd), times(8, opMeta),
		times(8, opDuplicate),
		times(14, opID), times(3, opReuse), times(6, opMethod), times(7, opCursor), times(4, opRename),
		times(4, opRespell))
	byteOps = weighted(times(10, opCut), times(8, opBlank), times(8, opCRLF), times(6, opJoin), times(20, opInsert),
		times(6, opPrefix), times(6, opSuffix), times(10, opErase), times(12, opFlip))

	position   = uniform(upTo(1000)) // in 1/1000 of the bytes
	smallCount = rapid.IntRange(0, 3)

	valueNames     = uniform(preferSmall(jsonValues))
	idValueNames   = uniform(preferSmall(idValues))
	cursorNames    = uniform(preferSmall(cursorValues))
	methodNames    = uniform(unknownMethods)
	memberNames    = uniform(unknownMembers)
	insertionNames = uniform(namesOf(byteInsertions))
)

// A weight gives a value a frequency.
type weight[T any] struct {
	count int
	value T
}

func times[T any](count int, value T) weight[T] { return weight[T]{count, value} }

// weighted draws each value as often as its weight says.
func weighted[T any](weights ...weight[T]) *rapid.Generator[T] {
	var values []T
	for _, w := range weights {
		for range w.count {
			values = append(values, w.value)
		}
	}
	return uniform(values)
}

var coin = rapid.Bool()

// uniform draws each element as often as any other. rapid.SampledFrom prefers
// the first elements, which makes examples small but would seldom draw the last
// ones.
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

// preferSmall returns the names of the values, the small ones several times: a
// large value takes a hundred times as long to send and to read.
func preferSmall(list []value) []string {
	const large, preference = 4000, 6
	var out []string
	for _, v := range list {
		count := preference
		if len(v.raw(1)) > large {
			count = 1
		}
		out = append(out, slices.Repeat([]string{v.name}, count)...)
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

// stepGenerator draws one base frame and its edits. It draws the method first,
// so that a method with few base frames is drawn as often as one with many.
func (c *corpus) stepGenerator() *rapid.Generator[Step] {
	malformed := uniform(c.malformed)
	methods, framesOf, lists := c.framesByMethod()
	method := uniform(methods)
	return rapid.Custom(func(t *rapid.T) Step {
		kind := stepKinds.Draw(t, "kind")
		if kind == sendMalformed {
			return Step{Frame: malformed.Draw(t, "malformed").name}
		}
		frame := framesOf[method.Draw(t, "method")].Draw(t, "frame")
		s := Step{}
		if kind == mutateTree || kind == mutateTreeAndBytes {
			for range editCounts.Draw(t, "edits") {
				e := frame.drawEdit(t)
				if e.Op == opCursor && !frame.takesCursor {
					frame = rapid.SampledFrom(lists).Draw(t, "list")
				}
				s.Edits = append(s.Edits, e)
			}
		}
		if kind == mutateBytes || kind == mutateTreeAndBytes {
			s.ByteEdits = []Edit{drawByteEdit(t)}
		}
		s.Frame = frame.name
		return s
	})
}

// framesByMethod returns the methods of the corpus, a generator of the base
// frames of each, and the frames that take a cursor. It returns initialize once
// and other methods four times, since a session ends with a second initialize.
func (c *corpus) framesByMethod() (
	methods []string, framesOf map[string]*rapid.Generator[*baseFrame], lists []*baseFrame,
) {
	byMethod := map[string][]*baseFrame{}
	for i := range c.frames {
		f := &c.frames[i]
		if byMethod[f.method] == nil {
			methods = append(methods, f.method)
		}
		byMethod[f.method] = append(byMethod[f.method], f)
		if f.takesCursor {
			lists = append(lists, f)
		}
	}
	for _, m := range slices.Clone(methods) {
		if m != "initialize" {
			methods = append(methods, m, m, m)
		}
	}
	framesOf = map[string]*rapid.Generator[*baseFrame]{}
	for m, frames := range byMethod {
		framesOf[m] = uniform(frames)
	}
	return methods, framesOf, lists
}

// drawEdit draws an edit of the tree of a frame.
func (f *baseFrame) drawEdit(t *rapid.T) Edit {
	e := Edit{Op: treeOps.Draw(t, "op")}
	pointer := func() string { return uniform(f.pointers).Draw(t, "at") }
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
		if len(f.objects) > 0 {
			e.At = uniform(f.objects).Draw(t, "at")
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

// drawByteEdit draws an edit of the bytes of a frame.
func drawByteEdit(t *rapid.T) Edit {
	e := Edit{Op: byteOps.Draw(t, "op")}
	switch e.Op {
	case opCut, opFlip, opErase:
		e.N = position.Draw(t, "position")
	case opInsert:
		e.N, e.Value = position.Draw(t, "position"), insertionNames.Draw(t, "bytes")
	case opPrefix, opSuffix:
		e.Value = insertionNames.Draw(t, "bytes")
	case opBlank:
		e.N = smallCount.Draw(t, "lines")
	}
	return e
}

// answerPointers are the values of an answer to a request of the server that
// are mutated.
var answerPointers = []string{
	"/result", "/jsonrpc", "/result/action", "/result/content", "/result/roots", "/result/role", "/result/model", "/id",
}

// drawAnswerEdit draws an edit of an answer to a request of the server.
func drawAnswerEdit(t *rapid.T) Edit {
	e := Edit{Op: rapid.SampledFrom([]string{opSet, opDrop, opDuplicate}).Draw(t, "op")}
	e.At = rapid.SampledFrom(answerPointers).Draw(t, "at")
	if e.Op == opSet {
		e.Value = valueNames.Draw(t, "value")
	}
	return e
}

// planSeed mixes the seed of a run with the number of a plan (splitmix64), so
// that runs with adjacent seeds share no plans. It never returns 0, which rapid
// takes for no seed.
func planSeed(run uint64, plan int) uint64 {
	z := run + uint64(plan+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return z>>1 | 1
}
