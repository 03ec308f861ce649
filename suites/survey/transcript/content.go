package transcript

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A Block is a value at a place for content.
type Block struct {
	Part
	Types []string // that the revision allows there
}

// HasType reports whether the block has a type that may be at its place.
func (b Block) HasType(kind string) bool {
	return b.Value.IsObject() && b.Value.Get("type").Type == gjson.String && b.Value.Get("type").Str == kind &&
		slices.Contains(b.Types, kind)
}

// A Content is a message that holds content blocks.
type Content struct {
	Message
	Blocks []Block
}

// Contents returns the messages that hold content blocks, with the blocks.
func Contents(j *check.J) []Content {
	return check.Derived(j, "content", func() (all []Content) {
		for _, s := range Messages(j) {
			if b := s.blocks(j); b != nil {
				all = append(all, Content{s, b})
			}
		}
		return all
	})
}
