package fuzz

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// A run is told by its seed: what is sent is the same frame for frame.
func TestSeedRepeatsTheRunFrameForFrame(t *testing.T) {
	sent := func(seed uint64) (frames [][]byte) {
		o := options()
		o.Seed, o.Runs = seed, 400
		o.Session.Timeout, o.FirstTimeout = 10*time.Second, 10*time.Second // a busy machine must not look like a slow target
		o.Sent = func(rev spec.Revision, raw []byte) { frames = append(frames, append([]byte(rev+" "), raw...)) }
		if _, err := Run(t.Context(), server.Target("reference", server.Options{StateKey: []byte("the same key in each run")}), o); err != nil {
			t.Fatal(err)
		}
		return frames
	}
	first, again, other := sent(7), sent(7), sent(8)
	if len(first) < 400 || !slices.EqualFunc(first, again, bytes.Equal) {
		t.Errorf("two runs of one seed sent %d and %d frames, not the same", len(first), len(again))
		for i := range min(len(first), len(again)) {
			if !bytes.Equal(first[i], again[i]) {
				t.Fatalf("frame %d:\n%.300s\n%.300s", i, first[i], again[i])
			}
		}
	}
	if slices.EqualFunc(first, other, bytes.Equal) {
		t.Error("another seed sent the same frames")
	}
}

// The search draws plans without rapid.Check, shrinking with it: both must
// start from the same plan.
func TestShrinkingStartsFromThePlanThatWasDrawn(t *testing.T) {
	decks := map[spec.Revision]*corpus{spec.V2025_06_18: newCorpus(spec.V2025_06_18, offering{})}
	g := newGenerator([]spec.Revision{spec.V2025_06_18}, decks)
	for i := range 200 {
		seed := planSeed(3, i)
		want := g.draw(seed)
		var first *Plan
		_, ok := g.shrink(seed, 1, func(p Plan) bool {
			if first == nil {
				first = &p
			}
			return false
		})
		if ok || first == nil || first.Key() != want.Key() {
			t.Fatalf("seed %d: drawn\n%s\nshrunk from\n%v", seed, want, first)
		}
	}
}

func TestShrinkingEndsAtTheOneStepThatFails(t *testing.T) {
	rev := spec.V2025_06_18
	g := newGenerator([]spec.Revision{rev}, map[spec.Revision]*corpus{rev: newCorpus(rev, offering{})})
	hasDrop := func(p Plan) bool {
		return slices.ContainsFunc(p.Steps, func(s Step) bool {
			return slices.ContainsFunc(s.Edits, func(e Edit) bool { return e.Op == opDrop })
		})
	}
	found := 0
	for i := range 300 {
		seed := planSeed(5, i)
		if p := g.draw(seed); !hasDrop(p) || len(p.Steps) < 3 {
			continue
		}
		found++
		asked := map[string]int{}
		small, ok := g.shrink(seed, options().Session.StartTimeout, func(p Plan) bool {
			asked[p.Key()]++
			return hasDrop(p)
		})
		e := &engine{}
		if small = e.reduce(small, hasDrop); !ok || len(small.Steps) != 1 || len(small.Steps[0].Edits) != 1 || len(small.Steps[0].ByteEdits) != 0 || small.Paced || small.NoOpening {
			t.Errorf("seed %d shrank to\n%s", seed, small)
		}
		for key, times := range asked {
			if times > 1 {
				t.Errorf("a plan was played %d times: %s", times, key)
			}
		}
		if found == 5 {
			return
		}
	}
	t.Errorf("only %d plans with three steps and a drop among 300", found)
}

// Plans must reach every operation, every card and every way to send, or the
// search is narrower than it says.
func TestPlansAreDrawnInFullWidth(t *testing.T) {
	for _, rev := range spec.Revisions() {
		d := newCorpus(rev, offering{})
		g := newGenerator([]spec.Revision{rev}, map[spec.Revision]*corpus{rev: d})
		cards, ops, seen := map[string]int{}, map[string]int{}, map[string]bool{}
		paced, bare, split, answers := 0, 0, 0, 0
		const plans = 6000
		for i := range plans {
			p := g.draw(planSeed(1, i))
			seen[p.Key()] = true
			if p.Paced {
				paced++
			}
			if p.NoOpening {
				bare++
			}
			if len(p.SplitAt) > 0 {
				split++
			}
			if len(p.AnswerEdits) > 0 {
				answers++
			}
			for _, s := range p.Steps {
				cards[s.Frame]++
				for _, e := range slices.Concat(s.Edits, s.ByteEdits) {
					ops[e.Op]++
				}
			}
		}
		for _, c := range slices.Concat(d.frames, d.malformed) {
			if cards[c.name] == 0 {
				t.Errorf("%s: %s was never drawn", rev, c.name)
			}
		}
		for _, op := range []string{opDrop, opDuplicate, opSet, opAdd, opRename, opID, opReuse, opMethod, opCursor, opMeta, opRespell, opCut, opFlip, opInsert, opPrefix, opSuffix, opErase, opJoin, opBlank, opCRLF} {
			if ops[op] < 20 {
				t.Errorf("%s: operation %s was drawn %d times", rev, op, ops[op])
			}
		}
		if paced < plans/10 || bare < plans/200 || split < plans/50 || answers < plans/200 {
			t.Errorf("%s: of %d plans %d are paced, %d bare, %d split, %d with odd answers", rev, plans, paced, bare, split, answers)
		}
		if len(seen) < plans*90/100 {
			t.Errorf("%s: only %d of %d plans are distinct", rev, len(seen), plans)
		}
	}
}
