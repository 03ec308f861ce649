package fuzz

import (
	"slices"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

func TestSameSeedSendsSameFrames(t *testing.T) {
	sent := func(seed uint64) (lines []string) {
		o := testOptions()
		o.Seed, o.Runs = seed, 400
		o.Session.Timeout, o.FirstTimeout = 10*time.Second, 10*time.Second // on a busy machine the target is slow
		target := newRecordingTarget(server.Options{StateKey: []byte("the same key in each run")})
		if _, err := Run(t.Context(), target, o); err != nil {
			t.Fatal(err)
		}
		// The time of an answer to a request of the server depends on the server.
		return slices.DeleteFunc(target.lines, func(line string) bool { return wire.Parse([]byte(line)).IsResponse() })
	}
	first, second, other := sent(7), sent(7), sent(8)
	if len(first) < 400 || !slices.Equal(first, second) {
		t.Errorf("two runs of one seed sent %d and %d lines, not the same", len(first), len(second))
		for i := range min(len(first), len(second)) {
			if first[i] != second[i] {
				t.Fatalf("line %d:\n%.300s\n%.300s", i, first[i], second[i])
			}
		}
	}
	if slices.Equal(first, other) {
		t.Error("another seed sent the same lines")
	}
}

// testGenerator returns a generator of plans at one revision.
func testGenerator(rev spec.Revision) *generator {
	return newGenerator([]spec.Revision{rev}, map[spec.Revision]*corpus{rev: newCorpus(rev, offering{})})
}

// The search draws plans without rapid.Check, and shrinks them with it.
func TestShrinkingStartsFromTheDrawnPlan(t *testing.T) {
	g := testGenerator(spec.V2025_06_18)
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

func TestShrinkingLeavesTheFailingStep(t *testing.T) {
	g := testGenerator(spec.V2025_06_18)
	hasDrop := func(p Plan) bool {
		return slices.ContainsFunc(p.Steps, func(s Step) bool {
			return slices.ContainsFunc(s.Edits, func(e Edit) bool { return e.Op == opDrop })
		})
	}
	found := 0
	for i := 0; i < 300 && found < 5; i++ {
		seed := planSeed(5, i)
		if p := g.draw(seed); !hasDrop(p) || len(p.Steps) < 3 {
			continue
		}
		found++
		calls := map[string]int{}
		small, ok := g.shrink(seed, testOptions().Session.StartTimeout, func(p Plan) bool {
			calls[p.Key()]++
			return hasDrop(p)
		})
		small = reduce(small, hasDrop)
		if !ok || !small.isMinimal() || len(small.Steps[0].Edits) != 1 || small.Paced {
			t.Errorf("seed %d shrank to\n%s", seed, small)
		}
		for key, n := range calls {
			if n > 1 {
				t.Errorf("a plan was executed %d times: %s", n, key)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d of 300 plans have three steps and a drop", found)
	}
}

// A frame, operation or way of sending that is never drawn would not be tested.
func TestPlansCoverFramesAndOperations(t *testing.T) {
	treeAndByteOps := []string{
		opDrop, opDuplicate, opSet, opAdd, opRename, opID, opReuse, opMethod, opCursor, opMeta, opRespell,
		opCut, opFlip, opInsert, opPrefix, opSuffix, opErase, opJoin, opBlank, opCRLF,
	}
	const plans = 6000
	for _, rev := range spec.Revisions() {
		g := testGenerator(rev)
		frames, ops, keys := map[string]int{}, map[string]int{}, map[string]bool{}
		paced, withoutOpening, split, answers := 0, 0, 0, 0
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		for i := range plans {
			p := g.draw(planSeed(1, i))
			keys[p.Key()] = true
			count(&paced, p.Paced)
			count(&withoutOpening, p.NoOpening)
			count(&split, len(p.SplitAt) > 0)
			count(&answers, len(p.AnswerEdits) > 0)
			for _, s := range p.Steps {
				frames[s.Frame]++
				for _, e := range slices.Concat(s.Edits, s.ByteEdits) {
					ops[e.Op]++
				}
			}
		}
		c := newCorpus(rev, offering{})
		for _, f := range slices.Concat(c.frames, c.malformed) {
			if frames[f.name] == 0 {
				t.Errorf("%s: %s was never drawn", rev, f.name)
			}
		}
		for _, op := range treeAndByteOps {
			if ops[op] < 20 {
				t.Errorf("%s: operation %s was drawn %d times", rev, op, ops[op])
			}
		}
		if paced < plans/10 || withoutOpening < plans/200 || split < plans/50 || answers < plans/200 {
			t.Errorf("%s: of %d plans %d are paced, %d without opening, %d split, %d with mutated answers",
				rev, plans, paced, withoutOpening, split, answers)
		}
		if len(keys) < plans*90/100 {
			t.Errorf("%s: only %d of %d plans are distinct", rev, len(keys), plans)
		}
	}
}
