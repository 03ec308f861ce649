package schema

import (
	"math/rand/v2"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 2)) }

func TestInstancesFitTheirDefinition(t *testing.T) {
	for _, rev := range spec.Revisions() {
		set, src := For(rev), seeded(1)
		for _, def := range set.definitions() {
			for range 50 {
				in := set.instance(src, def)
				if broken := set.Validate(def, in); len(broken) > 0 {
					t.Fatalf("%s %s: %s: %v", rev, def, in, broken)
				}
			}
		}
	}
}

// The differential test needs instances with every optional member and branch.
func TestInstancesHaveEveryMemberAndBranch(t *testing.T) {
	for _, rev := range spec.Revisions() {
		set, src := For(rev), seeded(3)
		blocks := map[string]bool{}
		members := map[string]bool{}
		for range 400 {
			v := gjson.ParseBytes(set.instance(src, "CallToolResult"))
			for _, block := range v.Get("content").Array() {
				blocks[block.Get("type").Str] = true
			}
			for key := range gjson.ParseBytes(set.instance(src, "Tool")).Map() {
				members[key] = true
			}
		}
		for _, kind := range rev.Facts().ContentTypes {
			if !blocks[kind] {
				t.Errorf("%s: no content block of type %s in 400 results", rev, kind)
			}
		}
		for _, p := range set.defs["Tool"].properties {
			if !members[p.name] {
				t.Errorf("%s: no tool with %s in 400", rev, p.name)
			}
		}
	}
}

type zeros struct{}

func (zeros) IntN(int) int { return 0 }

func TestInstanceOfZerosIsValid(t *testing.T) {
	for _, rev := range spec.Revisions() {
		for _, def := range For(rev).definitions() {
			if in := For(rev).instance(zeros{}, def); len(For(rev).Validate(def, in)) > 0 {
				t.Errorf("%s %s: %s is not valid", rev, def, in)
			}
		}
	}
}
