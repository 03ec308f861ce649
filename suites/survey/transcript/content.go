package transcript

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A Block is a value that stands where content does.
type Block struct {
	Part
	Types []string // that the revision has there
}

// Is tells whether the block is of a type, where that type may stand.
func (b Block) Is(kind string) bool {
	return b.Value.IsObject() && b.Value.Get("type").Type == gjson.String && b.Value.Get("type").Str == kind && slices.Contains(b.Types, kind)
}

// EachContent gives the content blocks of each message that has any.
func EachContent(j *check.J, look func(s Message, blocks []Block)) {
	type content struct {
		Message
		blocks []Block
	}
	for _, c := range check.Derived(j, "content", func() (all []content) {
		EachMessage(j, func(s Message) {
			if b := s.blocks(j); b != nil {
				all = append(all, content{s, b})
			}
		})
		return all
	}) {
		look(c.Message, c.blocks)
	}
}
